"""How a quota says no."""

from collections.abc import Sequence
from datetime import datetime

from django.utils.translation import gettext as _

from quotas.states import WaitReason


class QuotaError(Exception):
    """A quota could not do what was asked of it; the message is a sentence for people."""


class UnknownQuota(QuotaError):
    """There is no quota of that key."""

    def __init__(self, key: str) -> None:
        super().__init__(
            _("There is no quota “%(key)s”; create it in the admin or by `manage.py quota add`.") % {"key": key}
        )


class BadAmount(QuotaError, ValueError):
    """The amount is no whole number above zero, or too large to be kept."""


class BadKey(QuotaError, ValueError):
    """The idempotency key or the owner's is none that can be kept."""


class Conflict(QuotaError):
    """The idempotency key was used before, for something else."""


class Refused(QuotaError):
    """A charge or a reservation does not fit. Nothing was changed.

    Attributes:
        key: the quota that was charged.
        quota_id: its id.
        blocker: the key of the quota that lacks it: `key` or one of its ancestors.
        amount: what was asked for, in the quota's units.
        available: what the blocker has.
        why: what to wait for.
        expected_at: when it may fit again; None: unknown.
    """

    def __init__(
        self,
        key: str,
        *,
        quota_id: int,
        blocker: str,
        amount: int,
        available: int,
        why: WaitReason,
        expected_at: datetime | None,
    ) -> None:
        self.key, self.quota_id, self.blocker = key, quota_id, blocker
        self.amount, self.available, self.why, self.expected_at = amount, available, why, expected_at
        whose = f"“{key}”" if blocker == key else f"“{key}”, which is part of “{blocker}”,"
        super().__init__(f"The quota {whose} has {available:,} left of the {amount:,} asked for: {why.label}.")


class NeverSatisfiable(QuotaError):
    """The amount is above the limit: no waiting helps."""

    def __init__(self, key: str, *, blocker: str, amount: int, limit: int) -> None:
        self.key, self.blocker, self.amount, self.limit = key, blocker, amount, limit
        super().__init__(
            _(
                "%(amount)s can never be charged to the quota “%(key)s”: the limit of “%(blocker)s” is "
                "%(limit)s. Raise the limit, or ask for less at a time."
            )
            % {"amount": f"{amount:,}", "key": key, "blocker": blocker, "limit": f"{limit:,}"}
        )


class PauseNeeded(BaseException):
    """The work cannot go on before its quotas allow it. It passes through a job's own `except Exception`.

    Attributes:
        refusals: what was refused, one a quota.
    """

    def __init__(self, *refusals: Refused) -> None:
        super().__init__(" ".join(str(refusal) for refusal in refusals))
        self.refusals: Sequence[Refused] = refusals

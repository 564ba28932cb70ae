"""The parameters of carrier accounts change, and become the usual ones again."""

import re
from datetime import datetime

from django.core.exceptions import ValidationError
from django.db import transaction
from django.utils.translation import gettext as _

from project.kit.versions import StaleVersion
from quotas.ratelimit import LimiterError
from scheduler.polling.defining.rows import changed_fields
from scheduler.polling.models import CarrierAccount, PollingParams
from scheduler.polling.params import DEFAULTS, SHARED_QUEUE, windows_of

PARAMS_FIELDS = tuple(DEFAULTS)
QUEUE_NAME = rf"{re.escape(SHARED_QUEUE)}(\.[A-Za-z0-9_-]+)*"
EXAMPLE = f"{SHARED_QUEUE}.acme"


def save_params(params: PollingParams, *, expected_version: int, now: datetime, actor: str) -> list[str]:
    """Write what really changed of an account's parameters and return the names of those fields.

    Args:
        expected_version: that of the row which the person saw; 0 if there was none.

    Raises:
        StaleVersion: they were saved by somebody else since `expected_version`.
        ValidationError: a field is wrong; each message says which and what would be right.
    """
    check_params(params)
    with transaction.atomic():
        # Locked by its account, so that two first changes do not meet.
        CarrierAccount.objects.select_for_update(no_key=True).get(pk=params.account_id)
        current = PollingParams.objects.filter(pk=params.account_id).first() or _no_params(params.account_id)
        if current.version != expected_version:
            raise StaleVersion(current)
        changed = changed_fields(params, current, PARAMS_FIELDS)
        if changed:
            params.version, params.changed_by, params.changed_at = current.version + 1, actor, now
            params.full_clean(validate_constraints=False, validate_unique=False)
            params.save(force_insert=current.version == 0)
    return changed


def back_to_defaults(account_id: int) -> bool:
    """Forget an account's parameters; False: it had none of its own."""
    deleted, _ = PollingParams.objects.filter(pk=account_id).delete()
    return bool(deleted)


def _no_params(account_id: int) -> PollingParams:
    return PollingParams(account_id=account_id, version=0)


def check_params(params: PollingParams) -> None:
    """Refuse parameters that no poller could keep.

    Raises:
        ValidationError: naming the fields.
    """
    faults = {}
    if params.rate_windows is not None:
        try:
            windows_of(params.rate_windows)
        except LimiterError as error:
            faults["rate_windows"] = str(error)
    if params.queue and not re.fullmatch(QUEUE_NAME, params.queue):
        faults["queue"] = _(
            "“%(queue)s” is no queue of its own: write %(shared_queue)s and a name, as in %(example)s."
        ) % {"queue": params.queue, "shared_queue": SHARED_QUEUE, "example": EXAMPLE}
    if faults:
        raise ValidationError(faults)

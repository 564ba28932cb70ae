"""How much an account bears: what its row says, and what is usual where it says nothing."""

from collections.abc import Sequence
from dataclasses import dataclass
from decimal import Decimal
from typing import Any

from django.utils.translation import gettext as _

from quotas.ratelimit import LimiterError, Window
from quotas.ratelimit.windows import checked_windows
from scheduler.polling.models import PollingParams

SHARED_QUEUE = "polling.card"

# What is usual where neither the row nor the account's gateway says anything.
DEFAULTS: dict[str, Any] = {
    "inflight_limit": 200,  # at 5 calls/s and 20 ms a call two would do; with 10 s a call, 200 use 20 calls/s
    "card_max_in_flight": 100,  # half of it: two pollers share an account
    "stop_resume_max_in_flight": 1,  # a change is rarely urgent, and carriers fail whole batches for one card
    "sr_inflight_limit": 10,  # so that changes never hold more than a twentieth of the account
    "priority_max_ratio": Decimal("0.80"),  # who waits for an answer comes first, and a fifth keeps the tiers going
    "stop_resume_min_interval": 1800,  # the longest that a carrier is known to ask for between two changes of a card
    "stop_resume_confirm_delay": 60,  # carriers accept a change at once and carry it out within a minute
    "rate_windows": (Window(5, 1),),  # the strictest that a large carrier documents; more has to be said by somebody
    "max_concurrency": None,  # few carriers limit it; theirs is in their gateway
    "queue": SHARED_QUEUE,  # the claim isolates the accounts, not the queue
}


@dataclass(frozen=True, slots=True)
class Params:
    """What holds for an account.

    Attributes:
        priority_max_ratio: the share of priority among the cards taken while others are due as well, 0 to 1.
        stop_resume_min_interval, stop_resume_confirm_delay: seconds.
        rate_windows: of all its calls together; none: no limit.
        max_concurrency: calls at one time over all pollers; None: as many as there are cards in work.
        defaults: the names of those of its fields that nobody has set.
    """

    inflight_limit: int
    card_max_in_flight: int
    stop_resume_max_in_flight: int
    sr_inflight_limit: int
    priority_max_ratio: Decimal
    stop_resume_min_interval: int
    stop_resume_confirm_delay: int
    rate_windows: tuple[Window, ...]
    max_concurrency: int | None
    queue: str
    defaults: frozenset[str]


def resolved(row: PollingParams | None, **usual: Any) -> Params:
    """Return what holds for an account.

    Args:
        row: what somebody has set for it; None: nothing.
        usual: what its gateway takes for usual, by the names of `DEFAULTS`; empty: it takes nothing for usual.

    Raises:
        LimiterError: the row's rate windows cannot be used; `defining` lets none of them be saved.
    """
    known = {name: value for name, value in usual.items() if value}
    said = {} if row is None else _said(row)
    return Params(**(DEFAULTS | known | said), defaults=frozenset(DEFAULTS.keys() - said.keys()))


def _said(row: PollingParams) -> dict[str, Any]:
    columns = {name: getattr(row, name) for name in DEFAULTS}
    said = {name: value for name, value in columns.items() if value is not None and value != ""}
    return said | ({"rate_windows": windows_of(row.rate_windows)} if "rate_windows" in said else {})


def windows_of(value: object) -> tuple[Window, ...]:
    """Return the rate windows as the row holds them: [{"limit": 5, "seconds": 1}, ...].

    Raises:
        LimiterError: they are written otherwise, or a number is out of range; its text is a sentence.
    """
    if not isinstance(value, list):
        raise LimiterError(
            "rate_windows", _("Write the windows as a list, as in %(form)s; [] for none.") % {"form": _FORM}
        )
    return checked_windows([_window(item) for item in value]) if value else ()


def as_column(windows: Sequence[Window]) -> list[dict[str, Any]]:
    """Return rate windows as the row holds them."""
    return [
        {"limit": window.limit, "seconds": window.seconds} | ({} if window.even is None else {"even": window.even})
        for window in windows
    ]


def _window(item: object) -> Window:
    if not isinstance(item, dict) or not {"limit", "seconds"} <= item.keys() <= {"limit", "seconds", "even"}:
        raise LimiterError(
            "rate_windows", _("Each window names its limit and its seconds, as in %(form)s.") % {"form": _FORM}
        )
    if not isinstance(item.get("even"), bool | None):
        raise LimiterError("rate_windows", _("even: write true or false, or leave it out."))
    return Window(**item)


_FORM = '[{"limit": 5, "seconds": 1}, {"limit": 2000, "seconds": 300}]'

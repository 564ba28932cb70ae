"""The tiers as the rows have them."""

from scheduler.polling.models import PollingTier
from scheduler.polling.policy import Tier
from scheduler.polling.remembering import Remembered
from scheduler.polling.states import CheckType


def _load() -> tuple[Tier, ...]:
    return tuple(as_tier(row) for row in PollingTier.objects.order_by("position"))


def as_tier(row: PollingTier) -> Tier:
    """Return what the row says."""
    seconds = {check: getattr(row, f"{check}_seconds") for check in CheckType}
    return Tier(
        name=row.name,
        seconds={check: length for check, length in seconds.items() if length is not None},
        states=frozenset(row.states),
        real_name_states=frozenset(row.real_name_states),
        packages=frozenset(row.packages),
        usage_from_percent=row.usage_from_percent,
        usage_below_percent=row.usage_below_percent,
    )


# What holds; as it was a few seconds ago. It asks the database: not from an event loop.
current = Remembered(_load)

"""How much there is of everything, and how it is spread over the months."""

from dataclasses import dataclass

UNFINISHED = ("pending", "running", "paused", "resuming", "deferred", "failed", "awaiting_approval", "suspended")


@dataclass(frozen=True, slots=True)
class Size:
    """How many rows there are of what; what belongs to them comes in proportion.

    Attributes:
        busy: so many schedules have half of all runs.
    """

    schedules: int = 10_000
    busy: int = 100
    runs: int = 1_000_000
    accounts: int = 50
    cards: int = 100_000
    channels: int = 20
    alerts: int = 100_000
    quotas: int = 200
    entries: int = 1_000_000
    people: int = 50

    @property
    def unfinished(self) -> int:
        """How many of the runs, the latest, have not ended: a multiple of the states that there are for it."""
        return max(self.runs // 4000, 1) * len(UNFINISHED)


def spread(count: int, since: str = "'90 days'") -> str:
    """Return the SQL of an instant that grows with the row's number: the last one is the present."""
    return f"now - interval {since} * ({count} - n) / {count}"

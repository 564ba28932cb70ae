"""What a trigger says about a stretch of time, and about itself."""

from dataclasses import dataclass
from datetime import UTC, date, datetime, timedelta
from itertools import islice

from scheduler.cron.bounds import Trigger, unbounded
from scheduler.cron.expression import parse
from scheduler.cron.triggers import Cron, Interval
from scheduler.cron.zones import zone

COUNT_LIMIT = 1000

_RESOLUTION = timedelta(microseconds=1)
_DAY_SECONDS = 86_400


@dataclass(frozen=True, slots=True)
class Missed:
    """A backlog of due instants.

    Attributes:
        first, last: its two ends, always exact.
        count: how many there are; if `capped`, at least so many.
    """

    first: datetime
    last: datetime
    count: int
    capped: bool


def missed(trigger: Trigger, first: datetime, until: datetime) -> Missed | None:
    """Return what was due in first <= t < until, without walking a long backlog; None if nothing was."""
    last = trigger.latest_until(until - _RESOLUTION)
    if last is None or last < first:
        return None
    counted = list(islice(trigger.instants(first, until), COUNT_LIMIT + 1))
    return Missed(counted[0], last, min(len(counted), COUNT_LIMIT), capped=len(counted) > COUNT_LIMIT)


def stat_date(instant: datetime, zone_name: str, offset_days: int = 0) -> date:
    """Return the data day of a planned instant: its local date in the zone, plus the offset.

    Raises:
        TriggerError: the zone is not known.
    """
    return instant.astimezone(UTC).astimezone(zone(zone_name)).date() + timedelta(days=offset_days)


def is_fixed_time(trigger: Trigger) -> bool:
    """Tell whether the times are appointments: a cron expression without a wildcard in minute and hour."""
    inner = unbounded(trigger)
    return isinstance(inner, Cron) and parse(inner.expression).fixed


def fires_at_most_daily(trigger: Trigger) -> bool:
    """Tell whether there is at most one fire a day, so that each one stands for a day's data."""
    match unbounded(trigger):
        case Cron(expression=expression):
            return len(parse(expression).minutes) == 1
        case Interval(seconds=seconds):
            return seconds >= _DAY_SECONDS
        case _:
            return True

"""What a person should know about a trigger before saving it: changes of the clocks, days easily misread."""

from collections.abc import Iterable, Iterator
from datetime import datetime, timedelta
from zoneinfo import ZoneInfo

from project.kit.wall_clocks import last_change, local, offset
from scheduler.cron.bounds import Trigger, unbounded
from scheduler.cron.expression import WallClock, parse
from scheduler.cron.triggers import Cron
from scheduler.cron.zones import zone

_SECOND = timedelta(seconds=1)


def remarks(trigger: Trigger) -> list[str]:
    """Return sentences about the days of a cron expression that surprise people."""
    inner = unbounded(trigger)
    if not isinstance(inner, Cron):
        return []
    clock = parse(inner.expression)
    sentences = []
    if clock.either_day:
        sentences.append(
            "Day-of-month and day-of-week are both set: as in cron, a day that matches one of them is enough."
        )
    if min(clock.fields.days) > 28 and not clock.either_day:
        day = min(clock.fields.days)
        sentences.append(f"It runs only in months that have a day {day}; the last day of every month is L.")
    return sentences


def shifted_by_daylight_saving(trigger: Trigger, instants: Iterable[datetime]) -> dict[datetime, str]:
    """Return which of a trigger's instants a change of the clocks moves or doubles, each with a sentence.

    Raises:
        TriggerError: the trigger's expression or zone cannot be used.
    """
    inner = unbounded(trigger)
    if not isinstance(inner, Cron):
        return {}
    clock, place = parse(inner.expression), zone(inner.zone)
    sentences = ((instant, _shift(clock, place, instant)) for instant in instants)
    return {instant: sentence for instant, sentence in sentences if sentence}


def _shift(clock: WallClock, place: ZoneInfo, instant: datetime) -> str | None:
    if clock.fixed and (left_out := list(_left_out(clock, place, instant))):
        return _moved(left_out, local(instant, place))
    shown = instant.astimezone(place)
    if shown.replace(fold=0).utcoffset() != shown.replace(fold=1).utcoffset():
        return _doubled(clock, local(instant, place))
    return None


def _left_out(clock: WallClock, place: ZoneInfo, instant: datetime) -> Iterator[datetime]:
    """Yield the matching local times that the clock leaves out by going forward at this instant."""
    if last_change(place, instant - _SECOND, instant) != instant:
        return
    gap_start = (instant + offset(place, instant - _SECOND)).replace(tzinfo=None)
    wall = clock.following(gap_start - _SECOND)
    while wall is not None and wall < local(instant, place):
        yield wall
        wall = clock.following(wall)


def _moved(left_out: list[datetime], shown: datetime) -> str:
    times = " and ".join(f"{wall:%H:%M}" for wall in left_out)
    do_not = "do not" if len(left_out) > 1 else "does not"
    return f"{times} {do_not} exist on {left_out[0]:%Y-%m-%d}: the clock goes forward; it runs at {shown:%H:%M}."


def _doubled(clock: WallClock, shown: datetime) -> str:
    twice = f"{shown:%H:%M} comes twice on {shown:%Y-%m-%d}"
    if clock.fixed:
        return f"{twice}: it runs the first time only."
    return f"{twice}: it runs both times, and this is the {'second' if shown.fold else 'first'}."

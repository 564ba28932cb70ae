"""What a person should know about a trigger before saving it: changes of the clocks, days easily misread."""

from collections.abc import Iterable, Iterator
from datetime import datetime, timedelta
from zoneinfo import ZoneInfo

from django.utils.translation import gettext as _
from django.utils.translation import ngettext

from project.kit.sentences import enumerated
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
            _("Day-of-month and day-of-week are both set: as in cron, a day that matches one of them is enough.")
        )
    if min(clock.fields.days) > 28 and not clock.either_day:
        day = min(clock.fields.days)
        text = _("It runs only in months that have a day %(day)s; the last day of every month is L.")
        sentences.append(text % {"day": day})
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
    return ngettext(
        "%(times)s does not exist on %(day)s: the clock goes forward; it runs at %(shown)s.",
        "%(times)s do not exist on %(day)s: the clock goes forward; it runs at %(shown)s.",
        len(left_out),
    ) % {
        "times": enumerated(f"{wall:%H:%M}" for wall in left_out),
        "day": f"{left_out[0]:%Y-%m-%d}",
        "shown": f"{shown:%H:%M}",
    }


def _doubled(clock: WallClock, shown: datetime) -> str:
    text = _("%(time)s comes twice on %(day)s: it runs both times, and this is the first.")
    if clock.fixed:
        text = _("%(time)s comes twice on %(day)s: it runs the first time only.")
    elif shown.fold:
        text = _("%(time)s comes twice on %(day)s: it runs both times, and this is the second.")
    return text % {"time": f"{shown:%H:%M}", "day": f"{shown:%Y-%m-%d}"}

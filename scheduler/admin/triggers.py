"""A schedule's trigger for people: in words, and as the times that come next in two zones."""

from dataclasses import dataclass
from datetime import datetime, timedelta
from itertools import islice
from zoneinfo import ZoneInfo

from django.utils import timezone
from django.utils.formats import date_format
from django.utils.safestring import SafeString
from django.utils.translation import get_language
from django.utils.translation import gettext as _

from project.kit.admin import absolute, span, when
from scheduler import cron
from scheduler.admin.obstacles import obstacles_of
from scheduler.cron import Cron, Interval, Once, Trigger
from scheduler.cron.expression import parse
from scheduler.models import Schedule

UPCOMING = 5
# Far enough for five fires of any trigger that fires at all.
HORIZON = timedelta(days=366 * 250)


@dataclass(frozen=True, slots=True)
class Upcoming:
    """One time to come, by the clocks of the schedule's zone and of the viewer's.

    Attributes:
        differs: the trigger that it is compared with does not fire then.
    """

    there: str
    here: str
    relative: SafeString
    remark: str
    differs: bool


def in_words(schedule: Schedule) -> str:
    """Return the trigger as a sentence, or as it is written where it cannot be read any more."""
    try:
        trigger = schedule.as_trigger()
    except cron.TriggerError:
        return schedule.cron or str(schedule.get_trigger_display())
    return trigger_in_words(trigger)


def trigger_in_words(trigger: Trigger) -> str:
    """Return the trigger, without its start and end, as a sentence."""
    match cron.unbounded(trigger):
        case Cron(expression=expression):
            # The sentence comes from a library that speaks English only.
            return str(parse(expression).fields.explain()) if get_language() == "en" else f"cron {expression}"
        case Interval(seconds=seconds):
            return _("Every %(span)s") % {"span": span(timedelta(seconds=seconds))}
        case Once(at=at):
            return _("Once at %(instant)s") % {"instant": absolute(at)}


def upcoming(schedule: Schedule, trigger: Trigger, now: datetime, *, beside: Trigger | None = None) -> list[Upcoming]:
    """Return the next times of the schedule's trigger, and which of them are none of another, `beside` it."""
    there, here = cron.zone(schedule.timezone), timezone.get_current_timezone()
    return [
        Upcoming(
            _clock(instant, there),
            _clock(instant, here),
            when(instant, now),
            remark,
            beside is not None and not _fires_at(beside, instant),
        )
        for instant, remark in remarked_times(schedule, trigger, now, UPCOMING).items()
    ]


def remarked_times(schedule: Schedule, trigger: Trigger, now: datetime, count: int) -> dict[datetime, str]:
    """Return the next times of the schedule's trigger, each with a remark or an empty one.

    A remark says where a change of the clocks moves or doubles one, an excluded date skips or moves it, or its run
    is due in quiet hours.
    """
    instants = list(islice(trigger.instants(now, now + HORIZON), count))
    shifts, obstacles = cron.shifted_by_daylight_saving(trigger, instants), obstacles_of(schedule, instants)
    return {
        instant: " ".join(remarks[instant] for remarks in (shifts, obstacles) if instant in remarks)
        for instant in instants
    }


def _fires_at(trigger: Trigger, instant: datetime) -> bool:
    return next(trigger.instants(instant, instant + timedelta.resolution), None) is not None


def _clock(instant: datetime, zone: ZoneInfo | object) -> str:
    """Return the weekday, date and time that the zone's clocks show; seconds only where there are some."""
    local = instant.astimezone(zone)  # type: ignore[arg-type]
    return f"{date_format(local, 'D')} {local:%Y-%m-%d %H:%M:%S}".removesuffix(":00")

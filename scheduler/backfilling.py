"""A range of data days, run again or for the first time: one run a day, at most so many at once, cancelled as one."""

from collections.abc import Iterator
from dataclasses import replace
from datetime import date, datetime, time, timedelta
from itertools import islice

from django.core.exceptions import ValidationError
from django.db import transaction
from django.db.models import Max, Q
from django.utils.translation import gettext as _

from scheduler import accounts, cron, operations, transitions
from scheduler.fires import NewFire, insert_fires
from scheduler.models import Backfill, Fire, Schedule, TaskRun
from scheduler.opening import Opening, for_schedule, open_runs
from scheduler.states import EventTrigger, FireKind, FireOutcome, RunState
from scheduler.transitions import Claim

LONGEST_DAYS = 3660
EARLIEST_DAY = date(1970, 1, 1)


def open_backfill(
    schedule: Schedule,
    first_day: date,
    last_day: date,
    *,
    now: datetime,
    actor: str,
    parallel: int = 1,
    again: bool = False,
    reason: str = "",
) -> Backfill:
    """Open a run for each data day of the range, oldest first, due at once.

    The runs are beside the plan: they exclude each other `parallel` at a time, and the schedule's own runs go on.

    Args:
        again: also for days that are done, or that another backfill is to do; else they are left out.

    Raises:
        ValidationError: the range is empty, too long, not past, or nothing of it is left; the trigger cannot be read.
    """
    with transaction.atomic():
        # Of two who ask at once the second one sees what the first one has asked for.
        schedule = Schedule.objects.select_for_update().get(pk=schedule.pk)
        days = days_to_do(schedule, first_day, last_day, now=now, parallel=parallel, again=again)
        backfill = Backfill.objects.create(
            schedule=schedule,
            first_day=first_day,
            last_day=last_day,
            parallel=parallel,
            reason=reason,
            created_at=now,
            created_by=actor,
        )
        fires = insert_fires(_fires(backfill, len(days), now))
        openings = [
            _opening(backfill, position, day, fire, now)
            for position, (day, fire) in enumerate(zip(days, fires, strict=True))
        ]
        open_runs(openings, now=now, trigger=EventTrigger.BACKFILL, actor=actor)
    return backfill


def days_to_do(
    schedule: Schedule, first_day: date, last_day: date, *, now: datetime, parallel: int = 1, again: bool = False
) -> list[date]:
    """Return the data days for which a backfill would open a run, oldest first.

    Raises:
        ValidationError: as `open_backfill`.
    """
    _check(schedule, first_day, last_day, parallel, now)
    settled = set() if again else _settled(schedule, first_day, last_day)
    days = [day for day in _days(first_day, last_day) if day not in settled]
    if not days:
        sentence = _("Every day of the range is done, or another backfill is to do it. To do them again, say so.")
        raise ValidationError({"first_day": sentence})
    return days


def cancel_backfill(backfill: Backfill, *, now: datetime, actor: str, reason: str = "") -> int:
    """Cancel what is left of a backfill, as one; return how many runs that were. Running ones see it themselves."""
    why = reason or f"The backfill was cancelled by {actor}."
    with transaction.atomic():
        Backfill.objects.filter(pk=backfill.pk, cancelled_at__isnull=True).update(cancelled_at=now, cancelled_by=actor)
        left = TaskRun.objects.filter(backfill=backfill, finished_at__isnull=True).order_by("pk")
        accounts.lock(list(left.values_list("pk", flat=True)))
        runs = list(left.select_for_update())
        unbegun = [Claim(run.pk) for run in runs if run.attempt_count == 0]
        transitions.move(unbegun, RunState.CANCELLED, now=now, trigger=EventTrigger.MANUAL, actor=actor, reason=why)
        accounts.abandon([claim.run_id for claim in unbegun], now=now)
        for run in runs:
            if run.attempt_count > 0:  # at most `parallel` of them
                operations.cancel(run, now=now, actor=actor, reason=why)
    return len(runs)


def planned_instant(schedule: Schedule, day: date) -> datetime:
    """Return the instant for which the schedule's run of a data day is planned: its first due time that belongs to
    the day, or where there is none the start of the day.
    """
    zone = cron.zone(schedule.timezone)
    local_day = day - timedelta(days=schedule.stat_date_offset)
    start = cron.first_instant(datetime.combine(local_day, time()), zone)
    end = cron.first_instant(datetime.combine(local_day + timedelta(days=1), time()), zone)
    # Also before the schedule's start and after its end: a backfill is asked for by a person.
    due = cron.unbounded(schedule.as_trigger()).instants(start, end)
    return next(iter(islice(due, 1)), start)


def _check(schedule: Schedule, first_day: date, last_day: date, parallel: int, now: datetime) -> None:
    try:
        schedule.as_trigger()
        today = cron.stat_date(now, schedule.timezone, schedule.stat_date_offset)
    except cron.TriggerError as error:
        raise ValidationError(str(error)) from error
    _check_range(first_day, last_day, today)
    if parallel < 1:
        raise ValidationError({"parallel": _("At least one run at once is needed.")})


def _check_range(first_day: date, last_day: date, today: date) -> None:
    if first_day < EARLIEST_DAY:
        raise ValidationError(
            {
                "first_day": _("The range begins before %(earliest_day)s. Choose a later first day.")
                % {"earliest_day": EARLIEST_DAY}
            }
        )
    if last_day < first_day:
        raise ValidationError(
            {
                "last_day": _("The range ends (%(last_day)s) before it begins (%(first_day)s).")
                % {"last_day": last_day, "first_day": first_day}
            }
        )
    if last_day > today:
        sentence = _(
            "The range ends after %(today)s, the data day of this moment. What comes is made by the schedule."
        ) % {"today": today}
        raise ValidationError({"last_day": sentence})
    if (last_day - first_day).days >= LONGEST_DAYS:
        raise ValidationError(
            {
                "last_day": _("The range is longer than %(longest_days)s days. Ask for it in parts.")
                % {"longest_days": LONGEST_DAYS}
            }
        )


def _days(first_day: date, last_day: date) -> Iterator[date]:
    return (first_day + timedelta(days=number) for number in range((last_day - first_day).days + 1))


def _settled(schedule: Schedule, first_day: date, last_day: date) -> set[date]:
    """Return the days that have a run that is done, or one of a backfill that is still to come to its end."""
    runs = TaskRun.objects.filter(schedule=schedule, stat_date__range=(first_day, last_day))
    wanted = Q(state=RunState.DONE) | Q(backfill__isnull=False, finished_at__isnull=True)
    return set(runs.filter(wanted).values_list("stat_date", flat=True))


def _fires(backfill: Backfill, count: int, now: datetime) -> list[NewFire]:
    """Return the fires: due when they were asked for, each by a microsecond later, and behind those of the backfill
    before, so that a range can be asked for again.
    """
    asked = Fire.objects.filter(schedule=backfill.schedule, kind=FireKind.BACKFILL, fire_at__gte=now)
    latest = asked.aggregate(latest=Max("fire_at"))["latest"]
    first = now if latest is None else latest + timedelta.resolution
    return [
        NewFire(
            schedule=backfill.schedule,
            fire_at=first + position * timedelta.resolution,
            kind=FireKind.BACKFILL,
            outcome=FireOutcome.STARTED,
            reason=backfill.reason,
            actor=backfill.created_by,
            recorded_at=now,
        )
        for position in range(count)
    ]


def _opening(backfill: Backfill, position: int, day: date, fire: NewFire, now: datetime) -> Opening:
    schedule = backfill.schedule
    opening = for_schedule(schedule, planned_instant(schedule, day), now=now, fire_id=fire.id, reason=backfill.reason)
    slot = position % backfill.parallel
    return replace(opening, stat_date=day, backfill=backfill, exclusive_key=f"backfill:{backfill.pk}:{slot}")

"""Reads the rows around a schedule, a due time or a run, and asks what they mean."""

from dataclasses import replace
from datetime import datetime, timedelta

from django.db.models import Q

from scheduler import cron, wording
from scheduler.calendars import read_excluded_days
from scheduler.cron import Trigger, TriggerError
from scheduler.explaining.due_times import ScheduleFacts, explain_standing, explain_unrecorded
from scheduler.explaining.explanation import Explanation
from scheduler.explaining.fires import FireFacts, explain_fire_facts
from scheduler.explaining.quota_facts import QuotaFacts, read_quota_facts
from scheduler.explaining.run_facts import AHEAD_LIMIT, RunFacts
from scheduler.explaining.runs import explain_run_facts
from scheduler.explaining.scans import Scans, read_scans
from scheduler.models import Fire, Schedule, TaskRun
from scheduler.opening import exclusive_key
from scheduler.states import EXCLUSIVE, LAUNCHABLE, FireKind, FireOutcome, RunState

PLANNED = (FireKind.SCHEDULED, FireKind.MISFIRE)
LATEST = 20
MINUTE, SECOND = timedelta(minutes=1), timedelta(seconds=1)


def explain_fire(fire: Fire, *, now: datetime, scans: Scans | None = None) -> Explanation:
    """Say what became of a fire, and where the run stands that it opened or gave way to."""
    return _of_fire(_schedule_facts(fire.schedule, scans or read_scans()), fire, fire.fire_at, now)


def explain_run(
    run: TaskRun, *, now: datetime, scans: Scans | None = None, quotas: QuotaFacts | None = None
) -> Explanation:
    """Say where a run stands and why.

    Args:
        scans: when the scans last ran; by default as the composition tells.
        quotas: how it stands with its quotas, where that was read already.
    """
    facts = _run_facts(run, now, scans or read_scans(), quotas or read_quota_facts(run, now))
    return explain_run_facts(facts, now)


def explain(
    schedule: Schedule, *, at: datetime | None = None, now: datetime, scans: Scans | None = None
) -> Explanation:
    """Say why a schedule did or did not run at an instant; without one, where it stands and what it did last.

    Args:
        scans: when the scans last ran; by default as the composition tells.
    """
    facts = _schedule_facts(schedule, scans or read_scans())
    if at is None:
        return replace(explain_standing(facts, now), run=_latest(facts, now))
    at = _meant(schedule, facts.trigger, at)
    fire = _fire_of(schedule, facts.trigger, at)
    if fire is None:
        return explain_unrecorded(facts, at, now, _exclusion(schedule, at))
    return _of_fire(facts, fire, at, now)


# --- schedules -------------------------------------------------------------------------------------------------


def _schedule_facts(schedule: Schedule, scans: Scans) -> ScheduleFacts:
    trigger, fault = None, ""
    try:
        trigger = schedule.as_trigger()
    except TriggerError as error:
        fault = str(error)
    fault = schedule.broken_reason or fault
    broken = (
        Fire.objects.filter(schedule=schedule, outcome=FireOutcome.FAILED_TO_START) if fault else Fire.objects.none()
    )
    return ScheduleFacts(schedule, scans, trigger, fault, broken.order_by("-fire_at").first())


def _latest(facts: ScheduleFacts, now: datetime) -> Explanation | None:
    """Return what the schedule does at the moment: its oldest unfinished run, else its latest fire."""
    unfinished = _unfinished(facts.schedule)
    if unfinished is not None:
        return explain_run(unfinished, now=now, scans=facts.scans)
    fire = Fire.objects.filter(schedule=facts.schedule).order_by("-fire_at").first()
    # what comes next is said of the schedule already
    return replace(_of_fire(facts, fire, fire.fire_at, now), next_step="", next_at=None) if fire else None


def _unfinished(schedule: Schedule) -> TaskRun | None:
    """Return the run at the head of the schedule's queue, else an unfinished one among its latest.

    Each is found by an index: nobody walks through a long history to learn that all of it has ended.
    """
    key = exclusive_key(schedule)
    waiting = TaskRun.objects.filter(exclusive_key=key, finished_at__isnull=True).order_by("pk")
    if key is not None and (head := waiting.first()):
        return head
    latest = TaskRun.objects.filter(schedule=schedule).order_by("-pk")[:LATEST]
    return next((run for run in reversed(latest) if run.finished_at is None), None)


def _exclusion(schedule: Schedule, at: datetime) -> str:
    try:
        return read_excluded_days([schedule], since=at.date()).reason(schedule, at)
    except TriggerError:  # its zone is not known any more
        return ""


# --- fires -----------------------------------------------------------------------------------------------------


def _meant(schedule: Schedule, trigger: Trigger | None, at: datetime) -> datetime:
    """Return the instant that somebody means who writes it to the minute or to the second: what fired in it, else
    what is due in it. An interval counts from a moment of its own.
    """
    until = at + (MINUTE if at.second == 0 else SECOND) if at.microsecond == 0 else at + timedelta.resolution
    fired = Fire.objects.filter(schedule=schedule, kind__in=PLANNED, fire_at__gte=at, fire_at__lt=until)
    if own := fired.order_by("fire_at").first():
        return own.fire_at
    return next(cron.unbounded(trigger).instants(at, until), at) if trigger is not None else at


def _fire_of(schedule: Schedule, trigger: Trigger | None, at: datetime) -> Fire | None:
    """Return the fire that stands for an instant: its own, a skip that spans it, or one by hand in that minute."""
    fires = Fire.objects.filter(schedule=schedule)
    # Spans of skips do not overlap: only the nearest planned one can hold the instant, and it is one step in an index.
    nearest = fires.filter(kind__in=PLANNED, fire_at__lte=at).order_by("-fire_at").first()
    is_due = trigger is None or cron.unbounded(trigger).latest_until(at) == at
    if nearest is not None and _stands_for(nearest, at, is_due=is_due):
        return nearest
    if is_due:
        return None
    by_hand = fires.exclude(kind__in=PLANNED).filter(fire_at__gte=at, fire_at__lt=at + MINUTE)
    return by_hand.order_by("fire_at").first()


def _stands_for(fire: Fire, at: datetime, *, is_due: bool) -> bool:
    """Tell whether a planned fire is the instant's own, or a skip that holds it."""
    if at in (fire.fire_at, fire.missed_until):
        return True
    return is_due and fire.missed_until is not None and at <= fire.missed_until


def _of_fire(about: ScheduleFacts, fire: Fire, at: datetime, now: datetime) -> Explanation:
    run = TaskRun.objects.filter(fire=fire).first()
    facts = FireFacts(
        about,
        fire,
        at,
        run=run,
        opened=run.events.order_by("pk").first() if run else None,
        off_plan=_off_plan(about, fire, run) if run else None,
        made_up=_made_up(fire),
    )
    said = run or _run_in_the_way(fire)
    return replace(explain_fire_facts(facts), run=explain_run(said, now=now, scans=about.scans) if said else None)


def _off_plan(about: ScheduleFacts, fire: Fire, run: TaskRun) -> TaskRun | None:
    if fire.kind not in PLANNED or about.trigger is None or not cron.is_fixed_time(about.trigger):
        return None
    same_day = TaskRun.objects.filter(schedule=fire.schedule_id, stat_date=run.stat_date, state=RunState.DONE)
    return same_day.filter(started_at__lt=fire.fire_at, pk__lt=run.pk).order_by("-pk").first()


def _made_up(fire: Fire) -> Fire | None:
    if fire.outcome != FireOutcome.SKIPPED_MISFIRE or fire.missed_until is None:
        return None
    made_up = Fire.objects.filter(schedule=fire.schedule_id, kind__in=PLANNED, fire_at__gt=fire.missed_until)
    return made_up.filter(recorded_at=fire.recorded_at).first()


def _run_in_the_way(fire: Fire) -> TaskRun | None:
    """Return the run for which a fire was skipped, if it has not ended yet."""
    named = wording.named_run(fire.reason)
    if fire.outcome != FireOutcome.SKIPPED_OVERLAP or named is None:
        return None
    return TaskRun.objects.filter(pk=named, finished_at__isnull=True).first()


# --- runs ------------------------------------------------------------------------------------------------------


def blocker_of(run: TaskRun) -> TaskRun | None:
    """Return the run of the same key for which a run waits, to be launched or resumed: the oldest that has not ended,
    or one that is at work.
    """
    if run.exclusive_key is None or run.finished_at is not None or run.state not in (*LAUNCHABLE, RunState.PAUSED):
        return None
    others = TaskRun.objects.filter(exclusive_key=run.exclusive_key, finished_at__isnull=True).exclude(pk=run.pk)
    in_the_way = others.filter(Q(pk__lt=run.pk) | Q(state__in=EXCLUSIVE))
    return in_the_way.only("id", "state", "lease_owner").order_by("pk").first()


def _run_facts(run: TaskRun, now: datetime, scans: Scans, quotas: QuotaFacts) -> RunFacts:
    return RunFacts(
        run,
        run.schedule,
        scans,
        blocker=blocker_of(run),
        event=run.events.order_by("-pk").first(),
        attempt=run.attempts.defer("output", "traceback").order_by("-number").first(),
        question=run.approvals.filter(answer="").order_by("-segment").first(),
        ahead=_ahead_of(run, now),
        quotas=quotas,
    )


def _ahead_of(run: TaskRun, now: datetime) -> int:
    """Return how many due runs are launched before this one, if it is due and not launched."""
    if run.due_at is None or run.due_at > now or run.lease_expires_at is not None:
        return 0
    first = Q(priority__gt=run.priority) | Q(priority=run.priority, due_at__lt=run.due_at)
    due = TaskRun.objects.filter(first, due_at__lte=now, lease_expires_at__isnull=True)
    return due.order_by("-priority", "due_at", "id")[:AHEAD_LIMIT].count()

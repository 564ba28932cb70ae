"""What a schedule's page shows above its form: where it stands, what comes, what came of it."""

from datetime import datetime
from typing import Any

from django.db.models import BooleanField, Case, F, OuterRef, QuerySet, Value, When
from django.db.models.functions import JSONObject
from django.utils.safestring import SafeString
from django.utils.translation import gettext as _

from project.kit.admin import badge, when
from scheduler import cron, schedules
from scheduler.admin import cells, schedule_quota, triggers, why
from scheduler.admin.open_runs import open_runs
from scheduler.admin.questions import PATIENCE
from scheduler.admin.run_history import read_history
from scheduler.admin.schedule_form import ScheduleForm
from scheduler.cron import Trigger, TriggerError
from scheduler.explaining import explain
from scheduler.models import Fire, Schedule, TaskRun
from scheduler.states import FireKind

FIRES_SHOWN = 6
# Without these being right there is no preview of a form that is being typed.
PREVIEWED_FIELDS = (*schedules.TRIGGER_FIELDS, "quiet_from", "quiet_until")
RUNS_SHOWN = 6


def schedule_badge(schedule: Schedule, now: datetime) -> SafeString:
    """Return where the schedule stands as a badge."""
    if schedule.broken_reason:
        return badge(_("broken"), "red", schedule.broken_reason)
    if not schedule.enabled:
        by = _("by %(actor)s: ") % {"actor": schedule.paused_by} if schedule.paused_by else ""
        return badge(_("paused"), "amber", f"{by}{schedule.pause_reason}")
    if schedule.next_run_at is None:
        return badge(_("ended"), "grey", _("No time of its trigger is left."))
    if schedule.next_run_at < now - PATIENCE:
        return badge(_("overdue"), "red", _("No scan fired it in time."))
    return badge(_("enabled"), "green")


def overview(schedule: Schedule, now: datetime) -> dict[str, Any]:
    """Return what stands above the form."""
    plan = Fire.objects.filter(schedule=schedule).exclude(kind=FireKind.BACKFILL)  # they would hide it
    fires = plan.select_related("run").order_by("-fire_at")
    runs = TaskRun.objects.filter(schedule=schedule).order_by("-id")
    return {
        "badge": schedule_badge(schedule, now),
        "quota_facts": schedule_quota.facts(schedule, now),
        "why": why.shown(explain(schedule, now=now), now),
        "upcoming": _upcoming_of(schedule, now),
        "open_runs": open_runs(schedule, now),
        "fires": [_fire_line(fire, now) for fire in fires.defer(*_heavy("run__"))[:FIRES_SHOWN]],
        "runs": [run_line(run, now) for run in runs.defer(*_heavy())[:RUNS_SHOWN]],
        "history": read_history(schedule.pk, now),
    }


def strip_cell() -> JSONObject:
    """Return the columns of a run that a strip shows, as one value."""
    is_due = Case(When(due_at__isnull=False, then=Value(True)), default=Value(False), output_field=BooleanField())
    return JSONObject(id=F("id"), state=F("state"), stat_date=F("stat_date"), due=is_due)


def preview(form: ScheduleForm, saved: Schedule | None, now: datetime) -> dict[str, Any]:
    """Return the times that the typed trigger would fire, or what is wrong with it, and those of the saved one.

    Args:
        saved: the schedule that is being changed; None: it is a new one.
    """
    form.full_clean()
    old = _trigger_of(saved) if saved is not None else None
    faults = [fault for name in PREVIEWED_FIELDS for fault in form.errors.get(name, ())]
    if faults:
        return {"typed": {"faults": faults}, "saved": _upcoming_of(saved, now) if saved is not None else None}
    new = form.draft.as_trigger()
    return {
        "typed": _upcoming(form.draft, new, now, beside=old),
        "saved": _upcoming_of(saved, now, beside=new) if saved is not None else None,
    }


def _trigger_of(schedule: Schedule) -> Trigger | None:
    try:
        return schedule.as_trigger()
    except TriggerError:
        return None


def _upcoming_of(schedule: Schedule, now: datetime, *, beside: Trigger | None = None) -> dict[str, Any]:
    try:
        return _upcoming(schedule, schedule.as_trigger(), now, beside=beside)
    except TriggerError as error:
        return {"faults": [str(error)]}


def _upcoming(schedule: Schedule, trigger: Trigger, now: datetime, *, beside: Trigger | None = None) -> dict[str, Any]:
    return {
        "words": triggers.trigger_in_words(trigger),
        "zone": schedule.timezone,
        "times": triggers.upcoming(schedule, trigger, now, beside=beside),
        "remarks": cron.remarks(trigger),
    }


def _fire_line(fire: Fire, now: datetime) -> dict[str, Any]:
    run: TaskRun | None = getattr(fire, "run", None)
    return {
        "fire": cells.fire_link(fire, when(fire.fire_at, now)),
        "kind": cells.kind_text(fire.kind),
        "badge": cells.fire_badge(fire.outcome),
        "reason": fire.reason,
        "run": cells.run_link(run.pk) if run else "",
    }


def run_line(run: TaskRun, now: datetime) -> dict[str, Any]:
    """Return what a table of runs shows of one."""
    return {
        "run": cells.run_link(run.pk),
        "stat_date": run.stat_date.isoformat(),
        "badges": cells.run_badges(run, now),
        "bar": cells.progress(run),
        "started": when(run.started_at, now),
        "took": cells.took(run.started_at, run.finished_at, now),
        "reason": run.reason,
    }


def _heavy(prefix: str = "") -> tuple[str, ...]:
    return tuple(f"{prefix}{name}" for name in ("params", "progress", "result"))


def latest_runs(schedule_pk: OuterRef, count: int) -> QuerySet[TaskRun, Any]:
    """Return the strip of a list's row, as a subquery."""
    runs = TaskRun.objects.filter(**_of(schedule_pk)).order_by("schedule_id", "-id")
    return runs.values(cell=strip_cell())[:count]


def latest_fire(schedule_pk: OuterRef, column: str) -> QuerySet[Fire, Any]:
    """Return a column of the latest fire of a list's row, as a subquery."""
    fires = Fire.objects.filter(**_of(schedule_pk)).order_by("schedule_id", "-fire_at")
    latest: QuerySet[Fire, Any] = fires.values(column)[:1]
    return latest


def _of(schedule_pk: OuterRef) -> dict[str, Any]:
    """Return the condition "of this schedule" as a range of one.

    With an equality the order by schedule counts for nothing, and the planner, which takes every schedule for an
    average one, walks all of history back from its end: for 50 schedules that never ran, beside a few that made
    400,000 runs, 4.4 s. With a range only the index by schedule has the order: 3 ms.
    """
    return {"schedule_id__gte": schedule_pk, "schedule_id__lte": schedule_pk}

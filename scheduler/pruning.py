"""What of the scheduler's history goes, and when: ended runs with all that belongs to them, then the fires that opened
them. A planned instant whose fire is gone is behind its schedule for good, and does not fire again.
"""

from datetime import datetime

from django.db.models import CharField, Exists, F, OuterRef, Q, QuerySet, Value
from django.db.models.functions import Cast, Coalesce, Concat

from alerts.models import Alert
from project.kit.pruning import Kind, unless
from quotas import pruning as quota_pruning
from scheduler.models import Backfill, Fire, Schedule, TaskRun
from scheduler.states import FireKind

PLANNED = (FireKind.SCHEDULED, FireKind.MISFIRE)


# --- runs ------------------------------------------------------------------------------------------------------


def _run_may_go(before: datetime) -> Q:
    """Only with its seal: until then nobody could have verified it."""
    return Q(finished_at__lt=before) & ~Q(seal="") & _is_followed() & _is_not_needed()


def _is_followed() -> Q:
    """The newest run of a schedule stays, whatever its age: it says how the schedule did last."""
    newer = TaskRun.objects.filter(schedule=OuterRef("schedule"), pk__gt=OuterRef("pk"))
    return Q(schedule__isnull=True) | Q(Exists(newer))


def _is_not_needed() -> Q:
    """No run is a rerun of it, its backfill is over, no open alert is about it, and its schedule is not so far behind
    that it may be the work that is already done.
    """
    reruns = TaskRun.objects.filter(rerun_of=OuterRef("pk"))
    of_its_backfill = TaskRun.objects.filter(backfill=OuterRef("backfill"), finished_at__isnull=True)
    alerts = Alert.objects.filter(subject=_owner(OuterRef("pk")), resolved_at__isnull=True)
    behind = Schedule.objects.filter(pk=OuterRef("schedule"), next_run_at__lte=OuterRef("started_at"))
    return unless(reruns, of_its_backfill, alerts, behind)


def _owner(pk: F | OuterRef) -> Concat:
    """Return the text key under which quotas and alerts know a run: `scheduler.waits.owner_of`, in the database."""
    return Concat(Value("run:"), Cast(pk, CharField()))


# --- fires -----------------------------------------------------------------------------------------------------


def _fire_may_go(before: datetime) -> Q:
    is_old = Q(fire_at__lt=before, recorded_at__lt=before) & (Q(missed_until=None) | Q(missed_until__lt=before))
    return is_old & _is_behind_the_latest() & unless(TaskRun.objects.filter(fire=OuterRef("pk")), _still_to_come())


def _is_behind_the_latest() -> Q:
    """The latest planned fire of a schedule stays, whatever its age: it keeps its instant, the only one that could be
    made up should somebody set the schedule back, from firing again. So does the latest of any kind.
    """
    later = Fire.objects.filter(schedule=OuterRef("schedule"), fire_at__gt=OuterRef("fire_at"))
    is_planned = Q(kind__in=PLANNED)
    return is_planned & Q(Exists(later.filter(is_planned))) | ~is_planned & Q(Exists(later))


def _still_to_come() -> QuerySet[Schedule]:
    """Return the fire's schedule if it was set back to the fire's instants."""
    last = Coalesce(OuterRef("missed_until"), OuterRef("fire_at"))
    return Schedule.objects.filter(pk=OuterRef("schedule"), next_run_at__lte=last)


# --- the rest --------------------------------------------------------------------------------------------------


def _backfill_may_go(before: datetime) -> Q:
    return Q(created_at__lt=before) & unless(TaskRun.objects.filter(backfill=OuterRef("pk")))


def _open_owner() -> QuerySet[TaskRun]:
    unfinished = TaskRun.objects.filter(finished_at__isnull=True)
    return unfinished.annotate(key=_owner(F("pk"))).filter(key=OuterRef("owner"))


KINDS = (
    Kind("runs", TaskRun, "created_at", _run_may_go),
    Kind("fires", Fire, "recorded_at", _fire_may_go, kept_as="runs"),
    Kind("backfills", Backfill, "created_at", _backfill_may_go, kept_as="runs"),
    quota_pruning.reservations(_open_owner()),
)

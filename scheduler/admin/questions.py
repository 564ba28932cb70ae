"""What people ask about schedules and runs, each as a condition: lists filter by it, the home page counts it."""

from datetime import datetime, timedelta

from django.db.models import Exists, OuterRef, Q
from django.utils import timezone
from django.utils.translation import gettext_lazy as _

from project.kit.admin import Question
from scheduler.models import Fire
from scheduler.states import RunState

# A scan comes every second: what is due for longer than this is late.
PATIENCE = timedelta(seconds=60)
DAY = timedelta(days=1)
WITHOUT_DUE_TIME = (RunState.RUNNING, RunState.PAUSED, RunState.AWAITING_APPROVAL, RunState.SUSPENDED)


def is_unfinished(now: datetime) -> Q:
    """Runs that have not ended: due some time, or in a state that has no due time. Indexes hold just these."""
    return Q(due_at__isnull=False) | Q(state__in=WITHOUT_DUE_TIME)


def is_running(now: datetime) -> Q:
    """Runs that a worker has."""
    return Q(state=RunState.RUNNING)


def is_overdue(now: datetime) -> Q:
    """Runs that are due for longer than a scan takes, whatever keeps them."""
    return Q(due_at__lt=now - PATIENCE)


def is_stuck(now: datetime) -> Q:
    """Runs whose worker let its lease expire; the next rescue frees them."""
    return Q(state=RunState.RUNNING, lease_expires_at__lt=now)


def has_failed_today(now: datetime) -> Q:
    """Runs that failed for good since the viewer's midnight."""
    midnight = timezone.localtime(now).replace(hour=0, minute=0, second=0, microsecond=0)
    return Q(finished_at__gte=midnight, state=RunState.FAILED)


def has_failed_lately(now: datetime) -> Q:
    """Runs that failed for good in the last 24 hours."""
    return Q(finished_at__gte=now - DAY, state=RunState.FAILED)


def was_done_lately(now: datetime) -> Q:
    """Runs that ended well in the last 24 hours."""
    return Q(finished_at__gte=now - DAY, state=RunState.DONE)


def waits_for_retry(now: datetime) -> Q:
    """Runs that failed and are tried again."""
    return Q(due_at__isnull=False, state=RunState.FAILED)


def is_suspended(now: datetime) -> Q:
    """Runs that were interrupted and wait for a person."""
    return Q(state=RunState.SUSPENDED)


def is_paused_by_quota(now: datetime) -> Q:
    """Runs that wait for a quota."""
    return Q(state=RunState.PAUSED)


def is_held(now: datetime) -> Q:
    """Runs that wait for a quota, and go on only after a person has resumed them."""
    return Q(state=RunState.PAUSED, pause__held__gt="")


def waits_for_approval(now: datetime) -> Q:
    """Runs that ask a question."""
    return Q(state=RunState.AWAITING_APPROVAL)


RUN_QUESTIONS = (
    Question("unfinished", _("unfinished"), is_unfinished),
    Question("running", _("running"), is_running),
    Question("overdue", _("overdue"), is_overdue),
    Question("stuck", _("stuck (lease expired)"), is_stuck),
    Question("retry", _("waiting for its retry"), waits_for_retry),
    Question("suspended", _("suspended"), is_suspended),
    Question("approval", _("waiting for approval"), waits_for_approval),
    Question("quota", _("paused by a quota"), is_paused_by_quota),
    Question("held", _("paused, held for a person"), is_held),
    Question("failed-today", _("failed today"), has_failed_today),
    Question("failed-24h", _("failed in 24 h"), has_failed_lately),
    Question("done-24h", _("done in 24 h"), was_done_lately),
)


def is_due(now: datetime) -> Q:
    """Schedules that the next scan fires."""
    return Q(enabled=True, next_run_at__lte=now)


def is_late(now: datetime) -> Q:
    """Schedules that no scan fired in time."""
    return Q(enabled=True, next_run_at__lt=now - PATIENCE)


def is_paused(now: datetime) -> Q:
    """Schedules that a person paused."""
    return Q(enabled=False)


def is_broken(now: datetime) -> Q:
    """Schedules whose trigger cannot be read any more."""
    return ~Q(broken_reason="")


def never_fired(now: datetime) -> Q:
    """Schedules without a fire of any kind."""
    return Q(~Exists(Fire.objects.filter(schedule=OuterRef("pk"))))


def is_open(now: datetime) -> Q:
    """Approvals for whose answer a run waits."""
    return Q(answer="", run__state=RunState.AWAITING_APPROVAL)


def is_answered(now: datetime) -> Q:
    """Approvals that a person has answered."""
    return ~Q(answer="")


def is_left_open(now: datetime) -> Q:
    """Approvals whose run was cancelled before anybody answered."""
    return Q(answer="") & ~Q(run__state=RunState.AWAITING_APPROVAL)


APPROVAL_QUESTIONS = (
    Question("open", _("waiting for an answer"), is_open),
    Question("answered", _("answered"), is_answered),
    Question("left-open", _("never answered"), is_left_open),
)


SCHEDULE_QUESTIONS = (
    Question("due", _("due now"), is_due),
    Question("overdue", _("overdue"), is_late),
    Question("paused", _("paused"), is_paused),
    Question("broken", _("broken"), is_broken),
    Question("never-fired", _("never fired"), never_fired),
)

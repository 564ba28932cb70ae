"""What happens next with a run, and when: one sentence for the top of its page."""

from datetime import datetime

from django.utils.html import format_html
from django.utils.safestring import SafeString
from django.utils.translation import gettext as _

from project.kit.admin import when
from scheduler.admin.cells import is_stuck, run_link
from scheduler.models import TaskRun
from scheduler.states import LAUNCHABLE, RunState


def blocker_of(run: TaskRun) -> TaskRun | None:
    """Return the older unfinished run of the same key for which a run waits."""
    if run.exclusive_key is None or run.finished_at is not None or run.state not in LAUNCHABLE:
        return None
    older = TaskRun.objects.filter(exclusive_key=run.exclusive_key, finished_at__isnull=True, pk__lt=run.pk)
    return older.only("id", "state").order_by("pk").first()


def next_step(run: TaskRun, now: datetime, blocker: TaskRun | None) -> SafeString:
    """Return in a sentence what happens next with the run."""
    if run.finished_at is not None:
        return format_html("{}", _("It has ended and changes no more. To do its work again, run it again."))
    if run.state == RunState.RUNNING:
        return _while_running(run, now)
    if run.state in LAUNCHABLE and run.due_at is not None:
        return _while_due(run, run.due_at, now, blocker)
    return format_html("{}", _WAITING[RunState(run.state)]())


def _while_running(run: TaskRun, now: datetime) -> SafeString:
    if is_stuck(run, now):
        text = _("Its worker {worker} let the lease expire {when}. The next rescue scan frees it, with its progress.")
        return format_html(text, worker=run.lease_owner, when=when(run.lease_expires_at, now))
    if run.cancel_requested_at is not None:
        text = _("It ends at its next checkpoint: {actor} asked to cancel it {when}.")
        return format_html(text, actor=run.cancel_requested_by, when=when(run.cancel_requested_at, now))
    if run.deadline_at is not None:
        text = _("{worker} works on it. It times out {when}.")
        return format_html(text, worker=run.lease_owner, when=when(run.deadline_at, now))
    return format_html(_("{worker} works on it, without a time limit."), worker=run.lease_owner)


def _while_due(run: TaskRun, due_at: datetime, now: datetime, blocker: TaskRun | None) -> SafeString:
    if due_at > now and run.state == RunState.FAILED:
        text = _("It is tried again {when}: retry {number} of {total}.")
        return format_html(text, when=when(due_at, now), number=run.failure_count, total=len(run.retry_delays))
    if due_at > now:
        return format_html(_("It starts {when}."), when=when(due_at, now))
    if blocker is not None:
        text = _("It was due {when} and waits for run {run}, which is {state}.")
        return format_html(text, when=when(due_at, now), run=run_link(blocker.pk), state=blocker.get_state_display())
    if run.lease_expires_at is not None and run.lease_expires_at > now:
        text = _("A hint is on its way to a worker. If none takes it, it is sent again {when}.")
        return format_html(text, when=when(run.lease_expires_at, now))
    return format_html(_("It was due {when}. The next scan launches it."), when=when(due_at, now))


_WAITING = {
    RunState.PAUSED: lambda: _("It goes on when its quota is back, or when a person resumes it."),
    RunState.AWAITING_APPROVAL: lambda: _("It goes on when a person has answered its question."),
    RunState.SUSPENDED: lambda: _("A person decides: let it go on from its progress, or cancel it."),
}

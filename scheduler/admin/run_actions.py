"""What a person can do with a run."""

from collections.abc import Callable
from datetime import datetime

from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy

from project.kit.admin import Asked, Done, ObjectAction, RequiredReasonForm, relative
from scheduler import operations
from scheduler.admin.run_putting_off import PUT_OFF
from scheduler.admin.run_resuming import RESUME
from scheduler.models import Approval, TaskRun
from scheduler.states import RunState

# --- cancel ----------------------------------------------------------------------------------------------------


def _cancel_obstacle(run: TaskRun) -> str:
    if run.finished_at is not None:
        return _("Run #%(id)s has ended already (%(state)s).") % _named(run)
    if run.cancel_requested_at is not None:
        return _("Run #%(id)s was asked to cancel already; it ends at its next checkpoint.") % _named(run)
    return ""


def _cancel_consequences(run: TaskRun, now: datetime) -> list[str]:
    return [
        _how_it_is_cancelled(run),
        _("What it has done so far stays done, and its checkpoint is kept."),
        *([_("What is held of quotas for it is free for others.")] if run.pause_count else []),
        _("A cancelled run stays cancelled. Its work for %(day)s can be run again, as a new run.")
        % {"day": run.stat_date},
    ]


def _how_it_is_cancelled(run: TaskRun) -> str:
    if run.state == RunState.RUNNING:
        how = _("%(worker)s works on it. It ends at its next checkpoint; a shell command is terminated.")
        return how % {"worker": run.lease_owner}
    if run.cancel_requested_at is None and operations.holds_outside(run):
        return _("It holds something elsewhere, so it is executed once more, to end that.")
    return _("It is %(state)s and not running, so it is cancelled at once.") % _named(run)


def _cancel(run: TaskRun, asked: Asked) -> Done:
    if operations.cancel(run, now=asked.now, actor=asked.actor, reason=asked.reason):
        return Done(_("Run #%(id)s is cancelled.") % _named(run))
    return Done(_("Run #%(id)s is asked to cancel; it ends at its next checkpoint.") % _named(run))


# --- retry now, let go on --------------------------------------------------------------------------------------


def _retry_obstacle(run: TaskRun) -> str:
    if run.finished_at is None and run.state in (RunState.FAILED, RunState.DEFERRED):
        return ""
    return _("Run #%(id)s is %(state)s; only one that waits for its time can be retried now.") % _named(run)


def _retry_consequences(run: TaskRun, now: datetime) -> list[str]:
    due = relative(run.due_at, now) if run.due_at else "–"
    return [
        _("It would be due %(when)s; instead it is due at once.") % {"when": due},
        _("It goes on from its checkpoint, for the same data day %(day)s.") % {"day": run.stat_date},
    ]


def _retry(run: TaskRun, asked: Asked) -> Done:
    operations.retry_now(run, now=asked.now, actor=asked.actor, reason=asked.reason)
    return Done(_("Run #%(id)s is due now.") % _named(run))


def _go_on_obstacle(run: TaskRun) -> str:
    if run.state == RunState.SUSPENDED:
        return ""
    return _("Run #%(id)s is %(state)s, not suspended.") % _named(run)


def _go_on_consequences(run: TaskRun, now: datetime) -> list[str]:
    where = (
        _("It goes on from its checkpoint.") if run.progress else _("It has no checkpoint, so it starts from nothing.")
    )
    return [_("It is due at once, for its data day %(day)s.") % {"day": run.stat_date}, where]


def _let_go_on(run: TaskRun, asked: Asked) -> Done:
    operations.let_go_on(run, now=asked.now, actor=asked.actor, reason=asked.reason)
    return Done(_("Run #%(id)s goes on.") % _named(run))


def _give_up_consequences(run: TaskRun, now: datetime) -> list[str]:
    sentences = [
        _("It ends as failed, for good. It is not retried."),
        _("Its work for %(day)s can be run again, from nothing or from its progress, as a new run.")
        % {"day": run.stat_date},
    ]
    if run.exclusive_key:
        sentences.append(_("The runs of its schedule that wait for it go on."))
    return sentences


def _give_up(run: TaskRun, asked: Asked) -> Done:
    operations.give_up(run, now=asked.now, actor=asked.actor, reason=asked.reason)
    return Done(_("Run #%(id)s is given up.") % _named(run))


# --- approve, reject -------------------------------------------------------------------------------------------


def _answer_obstacle(run: TaskRun) -> str:
    if run.state == RunState.AWAITING_APPROVAL:
        return ""
    return _("Run #%(id)s is %(state)s; it asks nothing.") % _named(run)


def _approve_consequences(run: TaskRun, now: datetime) -> list[str]:
    return [
        _asked(run, now),
        _("It is due at once, for its data day %(day)s, and goes on behind this question.") % {"day": run.stat_date},
    ]


def _reject_consequences(run: TaskRun, now: datetime) -> list[str]:
    return [
        _asked(run, now),
        _("The run is cancelled. What it has done so far stays done, and its checkpoint is kept."),
    ]


def _asked(run: TaskRun, now: datetime) -> str:
    question = open_question(run)
    if question is None:
        return _("It asks nothing any more.")
    values = {"when": relative(question.asked_at, now), "question": question.question}
    return _("It asked %(when)s: “%(question)s”") % values


def open_question(run: TaskRun) -> Approval | None:
    """Return the question for whose answer the run waits."""
    if run.state != RunState.AWAITING_APPROVAL:
        return None
    return run.approvals.filter(answer="").order_by("-segment").first()


def _answer(*, approve: bool) -> Callable[[TaskRun, Asked], Done]:
    def perform(run: TaskRun, asked: Asked) -> Done:
        operations.answer(run, approve=approve, now=asked.now, actor=asked.actor, why=asked.reason)
        said = _("Run #%(id)s is approved and goes on.") if approve else _("Run #%(id)s is rejected and cancelled.")
        return Done(said % _named(run))

    return perform


# --- run again -------------------------------------------------------------------------------------------------


def _again_obstacle(run: TaskRun) -> str:
    if run.finished_at is not None:
        return ""
    return _("Run #%(id)s has not ended (%(state)s).") % _named(run)


def _again_from_progress_obstacle(run: TaskRun) -> str:
    if not run.progress and run.finished_at is not None:
        return _("Run #%(id)s has no checkpoint; run it again from nothing.") % _named(run)
    return _again_obstacle(run)


def _again_consequences(from_progress: bool) -> Callable[[TaskRun, datetime], list[str]]:
    def consequences(run: TaskRun, now: datetime) -> list[str]:
        opened = _("A new run is opened for the data day %(day)s, due at once, with the parameters of this one.")
        if from_progress:
            where = _("It begins with a copy of the checkpoint, and skips what that says is done.")
        else:
            where = _("It begins from nothing: what this run has done is done a second time.")
        sentences = [opened % {"day": run.stat_date}, where, _("This run stays as it is.")]
        if run.exclusive_key:
            sentences.append(_("While another run of its schedule is in progress, it waits for it."))
        return sentences

    return consequences


def _again(from_progress: bool) -> Callable[[TaskRun, Asked], Done]:
    def perform(run: TaskRun, asked: Asked) -> Done:
        again = operations.run_again(
            run, now=asked.now, actor=asked.actor, from_progress=from_progress, reason=asked.reason
        )
        return Done(_("Run #%(id)s was opened.") % _named(again), show=again)

    return perform


def _named(run: TaskRun) -> dict[str, object]:
    return {"id": run.pk, "state": run.get_state_display()}


CANCEL = ObjectAction(
    name="cancel",
    label=gettext_lazy("Cancel run"),
    permission="scheduler.cancel_taskrun",
    obstacle=_cancel_obstacle,
    consequences=_cancel_consequences,
    perform=_cancel,
    tone="danger",
    bulk=True,
)
RETRY_NOW = ObjectAction(
    name="retry",
    label=gettext_lazy("Retry now"),
    permission="scheduler.retry_taskrun",
    obstacle=_retry_obstacle,
    consequences=_retry_consequences,
    perform=_retry,
    tone="primary",
    bulk=True,
)
LET_GO_ON = ObjectAction(
    name="go-on",
    label=gettext_lazy("Let go on"),
    permission="scheduler.resume_taskrun",
    obstacle=_go_on_obstacle,
    consequences=_go_on_consequences,
    perform=_let_go_on,
    tone="primary",
    bulk=True,
)
GIVE_UP = ObjectAction(
    name="give-up",
    label=gettext_lazy("Give up"),
    permission="scheduler.resume_taskrun",
    obstacle=_go_on_obstacle,
    consequences=_give_up_consequences,
    perform=_give_up,
    form=RequiredReasonForm,
    tone="danger",
    bulk=True,
)
APPROVE = ObjectAction(
    name="approve",
    label=gettext_lazy("Approve"),
    permission="scheduler.answer_approval",
    obstacle=_answer_obstacle,
    consequences=_approve_consequences,
    perform=_answer(approve=True),
    tone="primary",
)
REJECT = ObjectAction(
    name="reject",
    label=gettext_lazy("Reject"),
    permission="scheduler.answer_approval",
    obstacle=_answer_obstacle,
    consequences=_reject_consequences,
    perform=_answer(approve=False),
    form=RequiredReasonForm,
    tone="danger",
)
RUN_AGAIN_FROM_PROGRESS = ObjectAction(
    name="again-from-progress",
    label=gettext_lazy("Run again from progress"),
    permission="scheduler.retry_taskrun",
    obstacle=_again_from_progress_obstacle,
    consequences=_again_consequences(from_progress=True),
    perform=_again(from_progress=True),
)
RUN_AGAIN_FROM_NOTHING = ObjectAction(
    name="again-from-nothing",
    label=gettext_lazy("Run again from nothing"),
    permission="scheduler.retry_taskrun",
    obstacle=_again_obstacle,
    consequences=_again_consequences(from_progress=False),
    perform=_again(from_progress=False),
)
# In the order of importance, in which the page of a run shows those that are possible.
RUN_ACTIONS = (
    APPROVE,
    REJECT,
    RESUME,
    LET_GO_ON,
    RETRY_NOW,
    PUT_OFF,
    GIVE_UP,
    RUN_AGAIN_FROM_PROGRESS,
    RUN_AGAIN_FROM_NOTHING,
    CANCEL,
)

"""Where a run stands and why: pure decisions over rows that were read."""

from collections.abc import Callable
from datetime import datetime, timedelta

from django.utils.translation import gettext as _
from django.utils.translation import gettext_noop

from project.kit.sentences import closed, together
from scheduler import rescuing, wording
from scheduler.explaining.explanation import Explanation, RowRef, Situation
from scheduler.explaining.launches import explain_due, explain_to_come
from scheduler.explaining.pauses import explain_paused, explain_resuming, trial
from scheduler.explaining.run_facts import RunFacts, sentence, silence_of
from scheduler.models import TaskRun
from scheduler.states import LAUNCHABLE, EventTrigger, RunState

SECOND = timedelta(seconds=1)


def explain_run_facts(facts: RunFacts, now: datetime) -> Explanation:
    """Say where the run stands, what it waits for, who has it, and what happens next."""
    run = facts.run
    if run.finished_at is not None:
        return _ended(facts, run.finished_at)
    if run.state == RunState.RUNNING:
        return _running(facts, now)
    if run.state == RunState.PAUSED:
        return explain_paused(facts, now)
    if run.state in LAUNCHABLE and run.due_at is not None:
        launch = explain_to_come(facts, run.due_at) if run.due_at > now else explain_due(facts, run.due_at, now)
        return explain_resuming(facts, launch, now) if run.state == RunState.RESUMING else launch
    return _WAITING[RunState(run.state)](facts)


# --- ended -----------------------------------------------------------------------------------------------------


def _ended(facts: RunFacts, finished_at: datetime) -> Explanation:
    situation, answer = _ENDS[RunState(facts.run.state)](facts, facts.at(finished_at))
    again = _("It has ended and changes no more; to do its work again, run it again")
    return Explanation(situation, answer, facts.zone, next_step=again, rows=facts.rows(facts.attempt_row))


def _done(facts: RunFacts, at: str) -> tuple[Situation, str]:
    run = facts.run
    text = _("Run #%(id)s did the work of %(day)s: it was done at %(at)s.")
    said = {"id": run.pk, "day": run.stat_date, "at": at}
    if run.duration and run.duration >= SECOND:
        text = _("Run #%(id)s did the work of %(day)s: it was done at %(at)s, %(span)s after it had begun.")
        said["span"] = wording.duration(run.duration)
    return Situation.DONE, text % said


def _failed(facts: RunFacts, at: str) -> tuple[Situation, str]:
    run, trigger = facts.run, facts.event.trigger if facts.event else ""
    said = {"id": run.pk, "at": at, "who": _actor(facts), "count": run.failure_count, "lost": run.interruption_count}
    if trigger == EventTrigger.RESCUE:
        text = _(
            "Run #%(id)s was given up at %(at)s: its worker was lost %(lost)s times in a row, with no checkpoint in "
            "between. The work itself may be what kills the workers."
        )
        return Situation.POISON, text % said
    if trigger == EventTrigger.MANUAL:
        text = _("Run #%(id)s was given up by %(who)s at %(at)s.") % said
        return Situation.GIVEN_UP, f"{text}{sentence(run.reason)}"
    return Situation.FAILED, f"{_how_it_failed(run) % said}{sentence(run.reason)}"


def _how_it_failed(run: TaskRun) -> str:
    if run.failure_count > 1:
        if run.retry_delays:
            return _("Run #%(id)s failed %(count)s times, the last time at %(at)s, and its retries are used up.")
        return _("Run #%(id)s failed %(count)s times, the last time at %(at)s, and no retry is planned for it.")
    if run.retry_delays:
        return _("Run #%(id)s failed at %(at)s, and its retries are used up.")
    return _("Run #%(id)s failed at %(at)s, and no retry is planned for it.")


def _cancelled(facts: RunFacts, at: str) -> tuple[Situation, str]:
    actor, reason = _actor(facts), facts.run.reason
    said = {"id": facts.run.pk, "at": at, "who": actor}
    if facts.event and facts.event.trigger == EventTrigger.APPROVAL:
        text = _("Run #%(id)s was cancelled at %(at)s, because its question was rejected.") % said
        return Situation.REJECTED, f"{text}{sentence(reason)}"
    why = "" if reason == f"Cancelled by {actor}." else sentence(reason)
    return Situation.CANCELLED, _("Run #%(id)s was cancelled by %(who)s at %(at)s.") % said + why


def _actor(facts: RunFacts) -> str:
    return (facts.event.actor if facts.event else "") or facts.run.cancel_requested_by or _("an unknown person")


_ENDS: dict[RunState, Callable[[RunFacts, str], tuple[Situation, str]]] = {
    RunState.DONE: _done,
    RunState.FAILED: _failed,
    RunState.CANCELLED: _cancelled,
}


# --- running ---------------------------------------------------------------------------------------------------


def _running(facts: RunFacts, now: datetime) -> Explanation:
    run = facts.run
    if run.lease_expires_at is not None and run.lease_expires_at < now:
        return _lease_lost(facts, run.lease_expires_at, now)
    situation, answer = Situation.RUNNING, together(_at_work(facts), trial(facts))
    if run.cancel_requested_at is not None:
        situation = Situation.CANCEL_ASKED
        asked = _("%(who)s asked to cancel it at %(at)s.")
        asked %= {"who": run.cancel_requested_by, "at": facts.at(run.cancel_requested_at)}
        answer, next_step, next_at = together(answer, asked), _("It ends at its next checkpoint"), None
    elif run.deadline_at is not None:
        next_step, next_at = _("If it has not ended before, it times out"), run.deadline_at
    else:
        next_step, next_at = _("It ends when its job returns; it has no time limit"), None
    return Explanation(
        situation,
        answer,
        facts.zone,
        held_by=_("%(worker)s, process %(process)s") % {"worker": run.lease_owner, "process": run.lease_pid},
        next_step=next_step,
        next_at=next_at,
        rows=facts.rows(facts.attempt_row),
    )


def _at_work(facts: RunFacts) -> str:
    run = facts.run
    text = _("%(worker)s works on run #%(id)s%(since)s: attempt %(attempt)s.")
    if run.progress_percent is not None:
        text = _("%(worker)s works on run #%(id)s%(since)s: attempt %(attempt)s, %(percent)s %% done.")
    return text % {
        "worker": run.lease_owner,
        "id": run.pk,
        "since": facts.since(),
        "attempt": run.attempt_count,
        "percent": run.progress_percent,
    }


_FREED = {
    RunState.PENDING: gettext_noop("and it goes on from its checkpoint"),
    RunState.SUSPENDED: gettext_noop("and it is suspended until a person decides"),
    RunState.FAILED: gettext_noop("and it is given up, as this is the loss number %(limit)s in a row"),
    RunState.CANCELLED: gettext_noop("and it is cancelled, as somebody asked"),
}


def _lease_lost(facts: RunFacts, expired_at: datetime, now: datetime) -> Explanation:
    run = facts.run
    fate = _(_FREED[rescuing.verdict(run)]) % {"limit": rescuing.POISON_AFTER}
    next_step = _("The next rescue scan frees it, %(fate)s") % {"fate": fate}
    if silence := silence_of(facts.scans.rescue, now, facts.zone):
        remedy = _("Start a worker: its rescue scan frees the run, %(fate)s") % {"fate": fate}
        next_step = together(closed(silence), remedy)
    said = {"worker": run.lease_owner, "process": run.lease_pid, "id": run.pk, "at": facts.at(expired_at)}
    return Explanation(
        Situation.LEASE_LOST,
        _(
            "%(worker)s worked on run #%(id)s, but gave no sign of life before its lease ended at %(at)s: it died, or "
            "was cut off."
        )
        % said,
        facts.zone,
        waits_for=_("a rescue scan"),
        held_by=_("nobody any more; the last was %(worker)s, process %(process)s") % said,
        next_step=next_step,
        rows=facts.rows(facts.attempt_row),
    )


# --- waiting for somebody --------------------------------------------------------------------------------------


def _awaiting_approval(facts: RunFacts) -> Explanation:
    question = facts.question
    text = _("Run #%(id)s waits for an approval%(since)s.")
    if question:
        text = _("Run #%(id)s waits for an approval%(since)s: “%(question)s”")
    said = {"id": facts.run.pk, "since": facts.since(), "question": question.question if question else ""}
    return Explanation(
        Situation.AWAITING_APPROVAL,
        text % said,
        facts.zone,
        waits_for=_("a person's answer"),
        next_step=_("It goes on when a person has answered its question, and is cancelled if the answer is no"),
        rows=facts.rows(RowRef("approval", question.pk) if question else None),
    )


def _suspended(facts: RunFacts) -> Explanation:
    suspended = _("Run #%(id)s was interrupted and is suspended%(since)s.")
    suspended %= {"id": facts.run.pk, "since": facts.since()}
    return Explanation(
        Situation.SUSPENDED,
        f"{suspended}{sentence(facts.run.reason)}",
        facts.zone,
        waits_for=_("a person's decision"),
        next_step=_("A person decides: let it go on from its progress, or give it up"),
        rows=facts.rows(facts.attempt_row),
    )


_WAITING: dict[RunState, Callable[[RunFacts], Explanation]] = {
    RunState.AWAITING_APPROVAL: _awaiting_approval,
    RunState.SUSPENDED: _suspended,
}

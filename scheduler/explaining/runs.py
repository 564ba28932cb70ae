"""Where a run stands and why: pure decisions over rows that were read."""

from collections.abc import Callable
from datetime import datetime, timedelta

from scheduler import rescuing, wording
from scheduler.explaining.explanation import Explanation, RowRef, Situation
from scheduler.explaining.launches import explain_due, explain_to_come
from scheduler.explaining.pauses import explain_paused, explain_resuming, trial
from scheduler.explaining.run_facts import RunFacts, sentence, silence_of
from scheduler.states import LAUNCHABLE, EventTrigger, RunState

SECOND = timedelta(seconds=1)
AGAIN = "It has ended and changes no more; to do its work again, run it again"


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
    situation, how = _ENDS[RunState(facts.run.state)](facts, f"at {facts.at(finished_at)}")
    return Explanation(
        situation, f"Run #{facts.run.pk} {how}", facts.zone, next_step=AGAIN, rows=facts.rows(facts.attempt_row)
    )


def _done(facts: RunFacts, at: str) -> tuple[Situation, str]:
    run = facts.run
    took = f", {wording.duration(run.duration)} after it had begun" if run.duration and run.duration >= SECOND else ""
    return Situation.DONE, f"did the work of {run.stat_date}: it was done {at}{took}."


def _failed(facts: RunFacts, at: str) -> tuple[Situation, str]:
    run, trigger, why = facts.run, facts.event.trigger if facts.event else "", sentence(facts.run.reason)
    if trigger == EventTrigger.RESCUE:
        lost = f"its worker was lost {run.interruption_count} times in a row, with no checkpoint in between"
        return Situation.POISON, f"was given up {at}: {lost}. The work itself may be what kills the workers."
    if trigger == EventTrigger.MANUAL:
        return Situation.GIVEN_UP, f"was given up by {_actor(facts)} {at}.{why}"
    tries = f"failed {run.failure_count} times, the last time" if run.failure_count > 1 else "failed"
    left = "its retries are used up" if run.retry_delays else "no retry is planned for it"
    return Situation.FAILED, f"{tries} {at}, and {left}.{why}"


def _cancelled(facts: RunFacts, at: str) -> tuple[Situation, str]:
    actor, reason = _actor(facts), facts.run.reason
    if facts.event and facts.event.trigger == EventTrigger.APPROVAL:
        return Situation.REJECTED, f"was cancelled {at}, because its question was rejected.{sentence(reason)}"
    why = "" if reason == f"Cancelled by {actor}." else sentence(reason)
    return Situation.CANCELLED, f"was cancelled by {actor} {at}.{why}"


def _actor(facts: RunFacts) -> str:
    return (facts.event.actor if facts.event else "") or facts.run.cancel_requested_by or "an unknown person"


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
    far = f", {run.progress_percent} % done" if run.progress_percent is not None else ""
    situation = Situation.RUNNING
    answer = f"{run.lease_owner} works on run #{run.pk}{facts.since()}: attempt {run.attempt_count}{far}.{trial(facts)}"
    if run.cancel_requested_at is not None:
        situation = Situation.CANCEL_ASKED
        answer = f"{answer} {run.cancel_requested_by} asked to cancel it at {facts.at(run.cancel_requested_at)}."
        next_step, next_at = "It ends at its next checkpoint", None
    elif run.deadline_at is not None:
        next_step, next_at = "If it has not ended before, it times out", run.deadline_at
    else:
        next_step, next_at = "It ends when its job returns; it has no time limit", None
    return Explanation(
        situation,
        answer,
        facts.zone,
        held_by=f"{run.lease_owner}, process {run.lease_pid}",
        next_step=next_step,
        next_at=next_at,
        rows=facts.rows(facts.attempt_row),
    )


_FREED = {
    RunState.PENDING: "and it goes on from its checkpoint",
    RunState.SUSPENDED: "and it is suspended until a person decides",
    RunState.FAILED: f"and it is given up, as this is the loss number {rescuing.POISON_AFTER} in a row",
    RunState.CANCELLED: "and it is cancelled, as somebody asked",
}


def _lease_lost(facts: RunFacts, expired_at: datetime, now: datetime) -> Explanation:
    run, fate = facts.run, _FREED[rescuing.verdict(facts.run)]
    next_step = f"The next rescue scan frees it, {fate}"
    if silence := silence_of(facts.scans.rescue, now, facts.zone):
        next_step = f"{silence}. Start a worker: its rescue scan frees the run, {fate}"
    return Explanation(
        Situation.LEASE_LOST,
        f"{run.lease_owner} worked on run #{run.pk}, but gave no sign of life before its lease ended at"
        f" {facts.at(expired_at)}: it died, or was cut off.",
        facts.zone,
        waits_for="a rescue scan",
        held_by=f"nobody any more; the last was {run.lease_owner}, process {run.lease_pid}",
        next_step=next_step,
        rows=facts.rows(facts.attempt_row),
    )


# --- waiting for somebody --------------------------------------------------------------------------------------


def _awaiting_approval(facts: RunFacts) -> Explanation:
    question = facts.question
    asked = f": “{question.question}”" if question else "."
    return Explanation(
        Situation.AWAITING_APPROVAL,
        f"Run #{facts.run.pk} waits for an approval{facts.since()}{asked}",
        facts.zone,
        waits_for="a person's answer",
        next_step="It goes on when a person has answered its question, and is cancelled if the answer is no",
        rows=facts.rows(RowRef("approval", question.pk) if question else None),
    )


def _suspended(facts: RunFacts) -> Explanation:
    return Explanation(
        Situation.SUSPENDED,
        f"Run #{facts.run.pk} was interrupted and is suspended{facts.since()}.{sentence(facts.run.reason)}",
        facts.zone,
        waits_for="a person's decision",
        next_step="A person decides: let it go on from its progress, or give it up",
        rows=facts.rows(facts.attempt_row),
    )


_WAITING: dict[RunState, Callable[[RunFacts], Explanation]] = {
    RunState.AWAITING_APPROVAL: _awaiting_approval,
    RunState.SUSPENDED: _suspended,
}

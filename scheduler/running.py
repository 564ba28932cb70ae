"""The worker's side of a run's rows: begin it, settle it, hand it back."""

import zlib
from collections.abc import Sequence
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from typing import Any

from django.conf import settings
from django.db import IntegrityError, connection, transaction

from quotas.refusals import Refused
from scheduler import accounts, pausing, transitions, wording
from scheduler.models import Approval, TaskRun
from scheduler.states import AttemptOutcome, EventTrigger, RunState
from scheduler.transitions import AttemptEnd, Claim, Worker

# How much a retry may come later than its delay says, so that failures of one moment do not come back as one.
RETRY_JITTER = 0.1
# How long the runs of a shared hint may wait for those before them; above executing.HINT_SECONDS.
SHARED_HINT_LEASE = timedelta(seconds=15)
UNASKED = "The job ended itself as cancelled, but nobody had asked to cancel it."


@dataclass(frozen=True, slots=True)
class Outcome:
    """How an attempt ended, as the job's execution saw it.

    Attributes:
        state: where the run goes.
        due_at: when it is due again, for the states that wait for a time.
        question: what a person is asked, for AWAITING_APPROVAL.
        refusals: what the quotas refused, for PAUSED.
        progressed: for PAUSED, whether the attempt got anywhere before.
        final: a failure that no retry can mend.
        spent: whether the attempt has to do with quotas, whose accounts have to be closed.
    """

    state: RunState
    attempt: AttemptOutcome
    trigger: EventTrigger = EventTrigger.JOB
    reason: str = ""
    error: str = ""
    traceback: str = ""
    output: str | None = ""  # None keeps what was written while it ran
    result: Any = None
    due_at: datetime | None = None
    question: str = ""
    refusals: Sequence[Refused] = ()
    progressed: bool = False
    final: bool = False
    spent: bool = False


def lease_seconds() -> timedelta:
    """Return how long a lease lasts without a heartbeat."""
    return timedelta(seconds=settings.TIDELINE_LEASE_SECONDS)


def begin(claim: Claim, worker: Worker, *, now: datetime) -> TaskRun | None:
    """Take the launched run for this worker, under a new attempt; None if the hint is out of date.

    The unique key of running runs is the last guard: where an older run of the key still runs, the launch is given
    back and the run waits for it.
    """
    try:
        with _undone_if_refused():
            return transitions.begin(claim, worker, now=now, lease_until=now + lease_seconds())
    except IntegrityError:
        give_back([claim])
        return None


def _undone_if_refused() -> AbstractContextManager[None]:
    """A refused statement spoils the transaction around it; one that stands alone needs none."""
    return transaction.atomic() if connection.in_atomic_block else nullcontext()


def begun(claim: Claim, worker: Worker) -> TaskRun | None:
    """Return the claimed run if it is running in this process."""
    mine = TaskRun.objects.filter(state=RunState.RUNNING, lease_owner=worker.name, lease_pid=worker.pid)
    return mine.filter(pk=claim.run_id, lease_token=claim.token or 0).first()


def limit_attempt(run: TaskRun, seconds: int | None, *, now: datetime) -> None:
    """Set when the begun attempt times out, if it does."""
    if seconds is not None:
        run.deadline_at = now + timedelta(seconds=seconds)
        TaskRun.objects.filter(pk=run.pk, lease_token=run.lease_token, state=RunState.RUNNING).update(
            deadline_at=run.deadline_at
        )


def settle(run: TaskRun, outcome: Outcome, *, now: datetime) -> bool:
    """Write how the attempt ended, and tell whether that still counted.

    A failure is due again after the next of the run's retry delays, or final. Progress is never cleared. A run
    whose cancel was asked for is cancelled now, unless it is done. What the attempt still holds of quotas is freed,
    and what it was charged for and did not use is given back, in the same transaction.
    """
    if not (outcome.spent or run.pause_count):
        return _settle_by_state(run, outcome, now)
    with transaction.atomic():
        accounts.lock([run.pk], {refusal.quota_id for refusal in outcome.refusals})
        settled = _settle_by_state(run, outcome, now)
        if settled:
            accounts.close([run], used=outcome.state == RunState.DONE, now=now)
    return settled


def may_settle_and_begin(run: TaskRun, outcome: Outcome, following: Claim) -> bool:
    """Tell whether `settle_and_begin` may: the attempt is done, nothing but its rows is to be written of that, and the
    two runs are locked in the order of their ids, as everywhere.
    """
    is_done = outcome.state == RunState.DONE and not (outcome.spent or run.pause_count)
    return is_done and run.pk < following.run_id and not transitions.is_told_of_success()


def settle_and_begin(
    run: TaskRun, outcome: Outcome, following: Claim, worker: Worker, *, now: datetime
) -> tuple[bool, TaskRun | None]:
    """Settle a run and begin the next one of its hint, in one round trip and one transaction: a worker's child waits
    once a run instead of twice. Return whether the first still counted, and the second if it has begun; one that has
    not is left for `begin`.
    """
    outcome = _storable(outcome)
    try:
        with _undone_if_refused():
            return transitions.finish_and_begin(
                Claim(run.pk, run.lease_token),
                _end(outcome),
                outcome.result,
                following,
                worker,
                now=now,
                lease_until=now + lease_seconds(),
            )
    except IntegrityError:
        return settle(run, outcome, now=now), None


def _settle_by_state(run: TaskRun, outcome: Outcome, now: datetime) -> bool:
    claim = Claim(run.pk, run.lease_token)
    outcome = _storable(outcome)
    if outcome.state == RunState.CANCELLED:
        if cancel_asked_for(claim, _end(outcome), now=now):
            return True
        outcome = replace(outcome, state=RunState.FAILED, attempt=AttemptOutcome.FAILED, reason=UNASKED, error=UNASKED)
    if outcome.state == RunState.FAILED:
        return _settle_failure(run, claim, outcome, now)
    if outcome.state == RunState.AWAITING_APPROVAL:
        return _settle_question(claim, outcome, now)
    if outcome.state == RunState.PAUSED:
        return _settle_pause(claim, outcome, now)
    columns = {"result": outcome.result} if outcome.state == RunState.DONE else {"due_at": outcome.due_at}
    return _settle(claim, outcome, now, columns)


def _storable(outcome: Outcome) -> Outcome:
    """Return the outcome with texts that PostgreSQL can hold: no NUL, no half of a character."""
    texts = {name: getattr(outcome, name) for name in ("reason", "error", "traceback", "output")}
    return replace(
        outcome,
        **{
            name: text.replace("\x00", "").encode(errors="replace").decode()
            for name, text in texts.items()
            if text is not None
        },
    )


def _settle_question(claim: Claim, outcome: Outcome, now: datetime) -> bool:
    """Settle the attempt and store what it asks, as the run's next segment, in one transaction."""
    with transaction.atomic():
        settled = _settle(claim, outcome, now, {})
        # Settled may also mean cancelled. Not settled: somebody else has the run, and may ask by now himself.
        if settled and TaskRun.objects.filter(pk=claim.run_id, state=RunState.AWAITING_APPROVAL).exists():
            approvals = Approval.objects.filter(run=claim.run_id)
            approvals.create(
                run_id=claim.run_id, segment=approvals.count() + 1, question=outcome.question, asked_at=now
            )
    return settled


def _settle_pause(claim: Claim, outcome: Outcome, now: datetime) -> bool:
    paused = pausing.pause_running(
        claim, outcome.refusals, attempt_end=_end(outcome), progressed=outcome.progressed, now=now
    )
    return paused or cancel_asked_for(claim, _end(outcome), now=now)


def _settle_failure(run: TaskRun, claim: Claim, outcome: Outcome, now: datetime) -> bool:
    retry_at = None if outcome.final else next_retry_at(run, now)
    columns = {"due_at": retry_at} if retry_at else {"finished_at": now}
    return _settle(claim, outcome, now, columns, counting=["failure_count"])


def _settle(
    claim: Claim, outcome: Outcome, now: datetime, columns: dict[str, Any], counting: Sequence[str] = ()
) -> bool:
    moved = transitions.move(
        [claim],
        outcome.state,
        now=now,
        trigger=outcome.trigger,
        reason=outcome.reason,
        sources=[RunState.RUNNING],
        attempt_end=_end(outcome),
        counting=counting,
        unless_cancel_asked=outcome.state != RunState.DONE,
        columns=columns,
    )
    return bool(moved) or cancel_asked_for(claim, _end(outcome), now=now)


def _end(outcome: Outcome) -> AttemptEnd:
    return AttemptEnd(outcome.attempt, outcome.error, outcome.traceback, outcome.output)


def cancel_asked_for(claim: Claim, end: AttemptEnd, *, now: datetime) -> bool:
    """Cancel the running run if a person asked for that; tell whether it was so."""
    asked = TaskRun.objects.filter(
        pk=claim.run_id, lease_token=claim.token or 0, cancel_requested_at__isnull=False
    ).values_list("cancel_requested_by", "cancel_reason")
    for actor, why in asked:
        return bool(
            transitions.move(
                [claim],
                RunState.CANCELLED,
                now=now,
                trigger=EventTrigger.MANUAL,
                actor=actor,
                reason=wording.cancelled_while_running(why),
                sources=[RunState.RUNNING],
                attempt_end=AttemptEnd(AttemptOutcome.CANCELLED, end.error, end.traceback, end.output),
            )
        )
    return False


def next_retry_at(run: TaskRun, now: datetime) -> datetime | None:
    """Return when the run is tried again after the failure it just had; None where its delays are used up.

    Never earlier than the delay says, and up to a tenth later: the same run and failure always give the same.
    """
    if run.failure_count >= len(run.retry_delays):
        return None
    delay = run.retry_delays[run.failure_count]
    spread = zlib.crc32(f"{run.pk}:{run.failure_count}".encode()) / 2**32
    return now + timedelta(seconds=delay * (1 + RETRY_JITTER * spread))


def keep_launched(claims: Sequence[Claim], *, now: datetime) -> None:
    """Let the launches of a shared hint hold while it is executed: its later runs wait here, and are not lost."""
    with connection.cursor() as cursor:
        cursor.execute(
            "UPDATE scheduler_taskrun AS run SET lease_expires_at = GREATEST(run.lease_expires_at, %s)"
            " FROM unnest(%s::bigint[], %s::bigint[]) AS claim (id, token)"
            " WHERE run.id = claim.id AND run.lease_token = claim.token AND run.due_at IS NOT NULL"
            " AND run.lease_expires_at IS NOT NULL",
            [now + SHARED_HINT_LEASE, [claim.run_id for claim in claims], [claim.token for claim in claims]],
        )


def give_back(claims: Sequence[Claim]) -> None:
    """End the launch leases of runs that were not begun: they are due again at once, for another worker."""
    with connection.cursor() as cursor:
        cursor.execute(
            "UPDATE scheduler_taskrun AS run SET lease_expires_at = NULL"
            " FROM unnest(%s::bigint[], %s::bigint[]) AS claim (id, token)"
            " WHERE run.id = claim.id AND run.lease_token = claim.token AND run.due_at IS NOT NULL",
            [[claim.run_id for claim in claims], [claim.token for claim in claims]],
        )

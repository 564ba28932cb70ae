"""Runs whose worker is gone: due again at once, under their data day and with their progress, or suspended."""

from collections.abc import Sequence
from datetime import datetime
from itertools import groupby
from typing import Any

from django.db import transaction

from scheduler import accounts, transitions
from scheduler.models import Schedule, TaskRun
from scheduler.states import AttemptOutcome, EventTrigger, RunState
from scheduler.transitions import AttemptEnd, Claim

# A run whose workers were lost this many times in a row, with no checkpoint in between, is what kills them.
POISON_AFTER = 5
BATCH = 500

SENTENCES = {
    RunState.PENDING: "The worker was lost; the run goes on where it was.",
    RunState.SUSPENDED: "The worker was lost; the schedule says that a person decides how it goes on.",
    RunState.FAILED: f"The worker was lost {POISON_AFTER} times in a row without a checkpoint: given up.",
    RunState.CANCELLED: "The worker was lost; a cancel had been asked for.",
}


def rescue_lost(*, now: datetime) -> int:
    """Free the runs whose lease has ended; return how many were freed.

    Rows that are locked are in somebody's hands and left to the next scan.
    """
    total = 0
    while True:
        with transaction.atomic():
            lost = TaskRun.objects.filter(state=RunState.RUNNING, lease_expires_at__lt=now).order_by("id")
            freed = free(list(lost.select_for_update(skip_locked=True)[:BATCH]), now=now)
        total += freed
        if freed < BATCH:
            return total


def free(runs: Sequence[TaskRun], *, now: datetime, detail: str = "") -> int:
    """Free runs that are RUNNING under a worker which is known to be gone; return how many it were.

    Each is guarded by the token that was read: who settled or took over meanwhile keeps it.
    """
    return sum(
        _move(list(same), RunState(state), now, f"{detail} {why}".strip())
        for (state, why), same in groupby(sorted(runs, key=_fate), key=_fate)
    )


def free_attempt(claim: Claim, *, now: datetime, detail: str) -> bool:
    """Free the run if it is still under this claim: its worker lives, and would keep a lease for work that nobody
    does.
    """
    still_ours = TaskRun.objects.filter(pk=claim.run_id, lease_token=claim.token or 0, state=RunState.RUNNING)
    return bool(free(list(still_ours), now=now, detail=detail))


def verdict(run: TaskRun) -> RunState:
    """Decide where an interrupted run goes."""
    if run.cancel_requested_at is not None:
        return RunState.CANCELLED
    if run.interruption_count + 1 >= POISON_AFTER:
        return RunState.FAILED
    if run.on_interrupt == Schedule.OnInterrupt.SUSPEND:
        return RunState.SUSPENDED
    return RunState.PENDING


def _fate(run: TaskRun) -> tuple[str, str]:
    """Return where the run goes, and what the person said who asked for that."""
    state = verdict(run)
    return state.value, run.cancel_reason if state == RunState.CANCELLED else ""


def _move(runs: Sequence[TaskRun], to: RunState, now: datetime, detail: str) -> int:
    columns: dict[RunState, dict[str, Any]] = {
        RunState.PENDING: {"due_at": now},
        RunState.FAILED: {"finished_at": now},
    }
    reason = f"{SENTENCES[to]} {detail}".rstrip()
    with transaction.atomic():
        accounts.lock([run.pk for run in runs])
        moved = transitions.move(
            [Claim(run.pk, run.lease_token) for run in runs],
            to,
            now=now,
            trigger=EventTrigger.RESCUE,
            reason=reason,
            sources=[RunState.RUNNING],
            attempt_end=AttemptEnd(AttemptOutcome.LOST, error=reason),
            counting=["interruption_count"],
            # Asked meanwhile: the next look cancels it.
            unless_cancel_asked=to != RunState.CANCELLED,
            columns=columns.get(to),
        )
        freed = {run.run_id for run in moved}
        accounts.close([run for run in runs if run.pk in freed], used=False, now=now)
    return len(moved)

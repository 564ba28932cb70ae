"""The worker process's care for the runs of its children: it extends their leases, ends what hangs, frees at once
what a dead child held, and hands back everything when it stops.

It lives in a thread of the worker's main process, so that a job which keeps its interpreter busy for minutes keeps
its lease.
"""

import logging
import os
import signal
import time
from collections.abc import Callable
from datetime import datetime, timedelta

import psutil
from django.db import DatabaseError, connection

from scheduler import rescuing, running, transitions
from scheduler.identity import ThisWorker, is_gone
from scheduler.models import TaskRun
from scheduler.running import Outcome, lease_seconds
from scheduler.states import AttemptOutcome, EventTrigger, RunState
from scheduler.transitions import AttemptEnd, Claim

logger = logging.getLogger(__name__)

# A job gets its timeout as an exception first; after this it is killed.
KILL_AFTER = timedelta(seconds=5)
# From the stop signal to the kill: the whole stop has to fit into the 10 s that containers give.
STOP_GRACE_SECONDS = 8.0


class LeaseKeeper:
    """Keeps the leases of one worker process.

    Two threads call it about once a second: `tick` looks after the rows; `guard` asks no database, so that it ends
    the jobs in time even while a statement of `tick` hangs.

    Args:
        clock: tells the database's present instant.
        monotonic: seconds, as CLOCK_MONOTONIC.
    """

    def __init__(
        self,
        worker: ThisWorker,
        clock: Callable[[], datetime],
        monotonic: Callable[[], float] = time.monotonic,
    ) -> None:
        self._worker, self._clock, self._monotonic = worker, clock, monotonic
        self._extended_at = monotonic()
        self._stop_at: float | None = None
        self._pids: set[int] = set()

    def tick(self) -> None:
        """Extend the leases, and end or free what has to be. A database that is away is borne."""
        try:
            self._keep()
        except DatabaseError as error:
            connection.close()
            logger.warning("leases cannot be extended: %s", type(error).__name__)

    def guard(self) -> None:
        """Kill the jobs when their leases could not be extended for as long as they last, or outstay a stop."""
        if not self._worker.signals.leases_hold:
            logger.error("the leases ran out without the database: the jobs are stopped")
            self._kill_jobs()
        elif self._stop_at is not None and self._monotonic() >= self._stop_at:
            self._kill_jobs()

    def stop(self) -> None:
        """Tell the jobs to stop; eight seconds later what is left is killed and its runs are handed back."""
        self._worker.signals.stop()
        self._stop_at = self._monotonic() + STOP_GRACE_SECONDS

    def _keep(self) -> None:
        asked_at = self._monotonic()
        now = self._clock()
        held = self._held()
        self._pids = {run.lease_pid for run in held if run.lease_pid}
        self._free_of_dead_children(held, now)
        self._end_overdue(held, now)
        if self._stop_at is not None and asked_at >= self._stop_at:
            self._hand_back(held, now)
            return
        if asked_at - self._extended_at >= lease_seconds().total_seconds() / 6:
            self._extend(now)
            self._extended_at = asked_at
            # Counted from before the question was sent, so that the row's lease ends no sooner than this.
            self._worker.signals.leases_hold_until(asked_at + lease_seconds().total_seconds())

    def _held(self) -> list[TaskRun]:
        return list(TaskRun.objects.filter(lease_owner=self._worker.name, state=RunState.RUNNING).order_by("id"))

    def _extend(self, now: datetime) -> None:
        TaskRun.objects.filter(lease_owner=self._worker.name, state=RunState.RUNNING).update(
            lease_expires_at=now + lease_seconds()
        )

    def _free_of_dead_children(self, held: list[TaskRun], now: datetime) -> None:
        dead = [run for run in held if run.lease_pid and not _is_alive(run.lease_pid)]
        if dead:
            rescuing.free(dead, now=now, detail="Its process died.")

    def _end_overdue(self, held: list[TaskRun], now: datetime) -> None:
        for run in held:
            if run.deadline_at is not None and run.deadline_at + KILL_AFTER < now:
                self._end(run, now)

    def _end(self, run: TaskRun, now: datetime) -> None:
        """Fail a run that outstayed its timeout, then kill its process.

        In this order: only if the run was still unsettled is the process still at it.
        """
        error = "The attempt did not heed its timeout; its process was killed."
        outcome = Outcome(RunState.FAILED, AttemptOutcome.TIMED_OUT, EventTrigger.TIMEOUT, error, error, output=None)
        if running.settle(run, outcome, now=now) and run.lease_pid:
            _kill(run.lease_pid)

    def _hand_back(self, held: list[TaskRun], now: datetime) -> None:
        """Kill what did not stop and make its runs due elsewhere: first the kill, so that nobody works twice."""
        self._kill_jobs()
        claims = [Claim(run.pk, run.lease_token) for run in held]
        reason = "The worker was stopping and the job did not end in time; the run goes on elsewhere."
        end = AttemptEnd(AttemptOutcome.HANDED_BACK, reason)
        transitions.move(
            claims,
            RunState.PENDING,
            now=now,
            trigger=EventTrigger.STOP,
            reason=reason,
            sources=[RunState.RUNNING],
            attempt_end=end,
            unless_cancel_asked=True,
            columns={"due_at": now},
        )
        for claim in claims:
            running.cancel_asked_for(claim, end, now=now)

    def _kill_jobs(self) -> None:
        for pid in self._pids:
            _kill(pid)
        self._pids = set()


def free_of_dead_neighbours(*, now: datetime) -> int:
    """Free at once the runs of workers that died on this machine, instead of waiting for their leases to end."""
    running_ones = TaskRun.objects.filter(state=RunState.RUNNING)
    owners = running_ones.order_by().values_list("lease_owner", flat=True).distinct()
    gone = [owner for owner in owners if is_gone(owner)]
    if not gone:
        return 0
    runs = running_ones.filter(lease_owner__in=gone)
    # A child outlives its worker where the platform has no parent-death signal; then its lease decides.
    orphaned = [run for run in runs if not (run.lease_pid and _is_alive(run.lease_pid))]
    return rescuing.free(orphaned, now=now, detail="Its worker process died.")


def _is_alive(pid: int) -> bool:
    try:
        return psutil.Process(pid).status() != psutil.STATUS_ZOMBIE
    except psutil.NoSuchProcess:
        return False


def _kill(pid: int) -> None:
    try:
        os.kill(pid, signal.SIGKILL)
    except ProcessLookupError:
        logger.debug("process %s was gone already", pid)

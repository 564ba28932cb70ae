"""The worker process's care for the runs of its children: it extends their leases, ends what hangs, frees at once
what a dead child held, and hands back everything when it stops.

It lives in a thread of the worker's main process, so that a job which keeps its interpreter busy for minutes keeps
its lease.
"""

import logging
import os
import signal
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from datetime import datetime, timedelta

import psutil
from django.db import DatabaseError, OperationalError, connection, transaction

from quotas import reserving
from scheduler import accounts, rescuing, running, transitions
from scheduler.identity import ThisWorker, is_gone
from scheduler.models import TaskRun
from scheduler.running import Outcome, lease_seconds
from scheduler.states import AttemptOutcome, EventTrigger, RunState
from scheduler.transitions import AttemptEnd, Claim
from scheduler.waits import owner_of

logger = logging.getLogger(__name__)

# How often the rows are looked at.
LOOK_SECONDS = 1.0
# A job gets its timeout as an exception first; after this it is killed.
KILL_AFTER = timedelta(seconds=5)
# From the stop signal: when the jobs are killed and their runs handed back, when they are killed even if the database
# does not answer, and when the process ends whatever it still waits for. Containers give 10 s.
STOP_GRACE_SECONDS = 8.0
KILL_AT_STOP_SECONDS = 8.5
LAST_SECONDS = 9.4
LOCK_TIMEOUT = "1s"


class LeaseKeeper:
    """Keeps the leases of one worker process.

    Two threads call it a few times a second: `tick` looks after the rows; `guard` asks no database, so that it ends
    the jobs in time even while a statement of `tick` hangs.

    Args:
        clock: tells the database's present instant.
        monotonic: seconds, as CLOCK_MONOTONIC.
        end_process: ends the worker process at once, with the given status.
        children: returns the process numbers of the worker's children, which run its jobs.
    """

    def __init__(
        self,
        worker: ThisWorker,
        clock: Callable[[], datetime],
        monotonic: Callable[[], float] = time.monotonic,
        end_process: Callable[[int], object] = os._exit,
        *,
        children: Callable[[], set[int]] = set,
    ) -> None:
        self._worker, self._clock, self._monotonic, self._end_process = worker, clock, monotonic, end_process
        self._children = children
        self._looked_at = self._extended_at = float("-inf")
        self._stopping_since: float | None = None
        self._pids: set[int] = set()

    def tick(self) -> None:
        """Extend the leases, and end or free what has to be. A database that is away is borne."""
        asked_at = self._monotonic()
        if asked_at - self._looked_at < LOOK_SECONDS and not self._has_been_stopping_for(STOP_GRACE_SECONDS):
            return
        self._looked_at = asked_at
        try:
            self._keep(asked_at)
        except DatabaseError as error:
            connection.close()
            logger.warning("leases cannot be extended: %s", type(error).__name__)

    def guard(self) -> None:
        """Kill the jobs when their leases could not be extended for as long as they last, or outstay a stop; and end
        a process that outstays it.
        """
        if not self._worker.signals.leases_hold and (self._pids or self._worker.signals.begun):
            logger.error("the leases ran out before they could be extended: the jobs are stopped")
            self._kill_jobs()
        if self._has_been_stopping_for(KILL_AT_STOP_SECONDS):
            self._kill_jobs()
        if self._has_been_stopping_for(LAST_SECONDS):
            logger.warning("the worker's stop took too long: it ends now")
            self._end_process(0)

    def stop(self) -> None:
        """Tell the jobs to stop; eight seconds later what is left is killed and its runs are handed back."""
        if self._stopping_since is None:
            self._stopping_since = self._monotonic()
        self._worker.signals.stop()

    def _has_been_stopping_for(self, seconds: float) -> bool:
        return self._stopping_since is not None and self._monotonic() - self._stopping_since >= seconds

    def _keep(self, asked_at: float) -> None:
        if not self._worker.signals.leases_hold:
            self._kill_jobs()  # before a lease that is extended late lets a job go on which somebody else has
        now = self._clock()
        if self._has_been_stopping_for(STOP_GRACE_SECONDS):
            self._hand_back(self._held(), now)
            return
        if asked_at - self._extended_at >= lease_seconds().total_seconds() / 6:
            self._extend(now)
            self._extended_at = asked_at
            # Counted from before the question was sent, so that the row's lease ends no sooner than this.
            self._worker.signals.leases_hold_until(asked_at + lease_seconds().total_seconds())
        self._worker.signals.forget_begun()
        held = self._held()
        self._pids = {run.lease_pid for run in held if run.lease_pid}
        self._end_overdue(held, now)
        self._free_of_dead_children(held, now)

    def _held(self) -> list[TaskRun]:
        return list(TaskRun.objects.filter(lease_owner=self._worker.name, state=RunState.RUNNING).order_by("id"))

    def _extend(self, now: datetime) -> None:
        """Extend all leases but those whose row is locked: a job that holds its own row, in a transaction with a
        checkpoint, must not cost the others theirs. Nobody takes over a locked row.
        """
        mine = TaskRun.objects.filter(lease_owner=self._worker.name, state=RunState.RUNNING)
        with transaction.atomic():
            free = list(mine.select_for_update(skip_locked=True).values_list("pk", flat=True))
            TaskRun.objects.filter(pk__in=free).update(lease_expires_at=now + lease_seconds())
        reserving.renew([owner_of(run_id) for run_id in free], now=now)

    def _free_of_dead_children(self, held: list[TaskRun], now: datetime) -> None:
        dead = [run for run in held if run.lease_pid and not _is_our_child(run.lease_pid)]
        if dead:
            with _short_waits():
                rescuing.free(dead, now=now, detail="Its process died.")

    def _end_overdue(self, held: list[TaskRun], now: datetime) -> None:
        for run in held:
            if run.deadline_at is not None and run.deadline_at + KILL_AFTER < now:
                self._end(run, now)

    def _end(self, run: TaskRun, now: datetime) -> None:
        """Fail a run that outstayed its timeout, then kill its process.

        In this order: only if the run was still unsettled is the process still at it. So it is, too, when the row
        is locked: the job holds it in a transaction of its own, and the next look finds the row free.
        """
        error = "The attempt did not heed its timeout; its process was killed."
        outcome = Outcome(
            RunState.FAILED, AttemptOutcome.TIMED_OUT, EventTrigger.TIMEOUT, error, error, output=None, spent=True
        )
        try:
            with _short_waits():
                unsettled = running.settle(run, outcome, now=now)
        except OperationalError:
            unsettled = True
        if unsettled and run.lease_pid:
            _kill(run.lease_pid)

    def _hand_back(self, held: list[TaskRun], now: datetime) -> None:
        """Kill what did not stop and make its runs due elsewhere: first the kill, so that nobody works twice."""
        self._pids |= {run.lease_pid for run in held if run.lease_pid}
        self._kill_jobs()
        for run in held:
            with _short_waits():
                _hand_back(run, now)

    def _kill_jobs(self) -> None:
        """Kill the children that run jobs; where one has begun of which the rows did not tell yet, all children: which
        one it is nobody knows, and those that are idle are replaced.
        """
        pids, self._pids = self._pids, set()
        if self._worker.signals.begun:
            self._worker.signals.forget_begun()
            pids |= self._children()
        for pid in pids:
            _kill(pid)


@contextmanager
def _short_waits() -> Iterator[None]:
    """Wait for locked rows no longer than a heartbeat may: what was not done is done at the next look."""
    with transaction.atomic():
        with connection.cursor() as cursor:
            cursor.execute(f"SET LOCAL lock_timeout = '{LOCK_TIMEOUT}'")
        yield


def _hand_back(run: TaskRun, now: datetime) -> None:
    claim = Claim(run.pk, run.lease_token)
    reason = "The worker was stopping and the job did not end in time; the run goes on elsewhere."
    end = AttemptEnd(AttemptOutcome.HANDED_BACK, reason)
    accounts.lock([run.pk])
    moved = transitions.move(
        [claim],
        RunState.PENDING,
        now=now,
        trigger=EventTrigger.STOP,
        reason=reason,
        sources=[RunState.RUNNING],
        attempt_end=end,
        unless_cancel_asked=True,
        columns={"due_at": now},
    )
    if moved or running.cancel_asked_for(claim, end, now=now):
        accounts.close([run], used=False, now=now)


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


def _is_our_child(pid: int) -> bool:
    """Whether the process lives, and is not a stranger that got the number of a dead child."""
    try:
        return _is_alive(pid) and psutil.Process(pid).ppid() == os.getpid()
    except psutil.NoSuchProcess:
        return False


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

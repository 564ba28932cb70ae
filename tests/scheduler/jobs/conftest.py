"""Runs of the built-in jobs, executed in this process or in one that may be killed."""

import subprocess
import sys
from collections.abc import Iterator
from datetime import timedelta
from typing import Any

import pytest

from project.kit.clock import database_now
from project.services import Redis
from scheduler import operations
from scheduler.executing import execute
from scheduler.identity import SharedSignals, ThisWorker, become_worker
from scheduler.jobs import celery_remote
from scheduler.launching import LAUNCH_LEASE
from scheduler.models import TaskRun
from scheduler.transitions import Claim
from tests.processes import Processes, surroundings
from tests.scheduler.jobs.shop import Shop
from tests.scheduler.jobs.upstream import Upstream, serving
from tests.scheduler.jobs.waiting import wait_until

EXECUTE = """
import django
django.setup()
from project.kit.clock import database_now
from project.services import Redis
from scheduler.executing import execute
from scheduler.identity import become_worker
from scheduler.transitions import Claim
execute(Claim({run_id}, {token}), become_worker(), database_now)
"""


class Executed:
    """A run after an attempt."""

    def __init__(self, run: TaskRun) -> None:
        self.run = TaskRun.objects.get(pk=run.pk)
        self.attempt = self.run.attempts.get(number=self.run.attempt_count)

    @property
    def state(self) -> str:
        """Where it stands."""
        return self.run.state

    @property
    def output(self) -> str:
        """What the last attempt printed."""
        return self.attempt.output

    def is_put_off_by(self, seconds: float) -> bool:
        """Whether the run is due again so long after the attempt said so, which was between its start and its end."""
        wait = timedelta(seconds=seconds)
        return self.attempt.started_at + wait <= self.run.due_at <= self.attempt.finished_at + wait

    @property
    def everything(self) -> str:
        """All that a person may read about the attempt."""
        events = " ".join(event.reason for event in self.run.events.all())
        return " ".join([self.output, self.attempt.error, self.attempt.traceback, self.run.reason, events])


class Signals(SharedSignals):
    """Counts how often the job asks whether its worker is stopping, so that a test can wait until it has looked."""

    asked = 0

    @property
    def stopping(self) -> bool:
        """Whether the worker was asked to stop."""
        self.asked += 1
        return super().stopping

    def wait_for_looks(self, count: int = 3) -> None:
        """Wait until the job has looked so many times more."""
        before = self.asked
        wait_until(lambda: self.asked >= before + count, f"{count} looks of the job")


class Runs:
    """Opens runs and executes them as a worker would, without a broker between."""

    def __init__(self) -> None:
        self.signals = Signals()
        self.worker = ThisWorker(become_worker().name, self.signals)

    def open(self, job: str, params: dict[str, Any], **columns: Any) -> TaskRun:
        """Open a run; `columns` are further ones of its row."""
        run = operations.run_job(job, params, now=database_now(), actor="a test")
        TaskRun.objects.filter(pk=run.pk).update(**columns)
        return TaskRun.objects.get(pk=run.pk)

    def perform(self, job: str, params: dict[str, Any], **columns: Any) -> Executed:
        """Open a run and execute it once in this process."""
        return self.execute(self.open(job, params, **columns))

    def execute(self, run: TaskRun) -> Executed:
        """Execute the run once in this process, whenever it is due."""
        execute(self.lease(run), self.worker, database_now)
        return Executed(run)

    def lease(self, run: TaskRun) -> Claim:
        """Do what the launcher does."""
        token = TaskRun.objects.get(pk=run.pk).lease_token + 1
        TaskRun.objects.filter(pk=run.pk).update(
            lease_token=token, lease_owner="", lease_expires_at=database_now() + LAUNCH_LEASE
        )
        return Claim(run.pk, token)

    def execute_elsewhere(self, run: TaskRun) -> subprocess.Popen[bytes]:
        """Execute the run in a process of its own, which the test may kill."""
        claim = self.lease(run)
        code = EXECUTE.format(run_id=claim.run_id, token=claim.token)
        return subprocess.Popen([sys.executable, "-c", code], env=surroundings(), start_new_session=True)


@pytest.fixture
def runs(transactional_db: None) -> Runs:
    """Opens and executes runs."""
    return Runs()


@pytest.fixture
def upstream() -> Iterator[Upstream]:
    server = Upstream()
    with serving(server):
        yield server


@pytest.fixture
def shop(redis_server: Redis, processes: Processes) -> Iterator[Shop]:
    return Shop(redis_server, processes)


@pytest.fixture
def impatient(monkeypatch: pytest.MonkeyPatch) -> None:
    """Have a slot of a worker end at once."""
    monkeypatch.setattr(celery_remote, "SLOT_SECONDS", 0.0)

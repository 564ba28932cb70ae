"""A worker process for tests of its lease keeper: its clocks stand still, its children are real."""

import subprocess
import time
from datetime import datetime, timedelta
from typing import Any

import pytest

from scheduler.identity import SharedSignals, ThisWorker
from scheduler.keeping import LeaseKeeper
from scheduler.models import TaskRun
from scheduler.states import RunState
from tests.scheduler.factories import NOW, make_run

LEASE = 30.0
Child = subprocess.Popen[bytes]


class Station:
    """A worker process whose clocks stand still until they are moved."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.seconds = self._began = time.monotonic()
        monkeypatch.setattr(time, "monotonic", lambda: self.seconds)
        self.worker = ThisWorker("host:1:1:boot", SharedSignals())
        self.ended_with: list[int] = []
        self.children: set[int] = set()
        self.keeper = LeaseKeeper(
            self.worker,
            lambda: self.now,
            lambda: self.seconds,
            self.ended_with.append,
            children=lambda: self.children,
        )

    @property
    def now(self) -> datetime:
        """What the database's clock shows."""
        return NOW + timedelta(seconds=self.seconds - self._began)

    def at(self, seconds: float) -> "Station":
        """Move the clocks to so many seconds after the beginning."""
        self.seconds = self._began + seconds
        return self

    def tick(self) -> None:
        """Look after the rows."""
        self.keeper.tick()

    def guard(self) -> None:
        """Look after the leases without the database."""
        self.keeper.guard()


def held(station: Station, child: Child | None = None, **fields: Any) -> TaskRun:
    """Make a run that the station's worker holds, in a child or in no process that is known."""
    values = {"lease_owner": station.worker.name, "lease_pid": child.pid if child else None, **fields}
    return make_run(RunState.RUNNING, now=station.now, **values)


def now_is(run: TaskRun) -> TaskRun:
    """Return the run as the database has it now."""
    return TaskRun.objects.get(pk=run.pk)


def was_killed(child: Child) -> bool:
    """Return whether the child was killed, which must be at once."""
    try:
        return child.wait(5) == -9
    except subprocess.TimeoutExpired:
        return False


def lives(child: Child) -> bool:
    """Return whether the child is there."""
    return child.poll() is None

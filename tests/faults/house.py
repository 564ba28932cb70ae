"""Tideline's processes around a broker of the test's own, and what the test asks of their rows and marks."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

from project.kit.clock import database_now
from project.services import Redis
from scheduler.models import Attempt, Schedule, TaskRun
from scheduler.opening import Opening, open_runs
from scheduler.states import EventTrigger, RunState
from tests.processes import Processes, Started
from tests.scheduler.factories import make_schedule

LEASE_SECONDS = 5
# Twice what a runner promises. A job that ignores the stop has 8 s of these ten for itself; where fourteen processes
# shared two cores, killing it and handing its run back took 3 to 7 s more, and everything else ended within ten.
CONTAINER_GRACE_SECONDS = 10.0 * 2
# No test waits so long: whatever goes on under it did not wait for a lease to end.
LONG_LEASE = {"TIDELINE_LEASE_SECONDS": "600"}


class House:
    """One installation: real processes, their broker, and the file in which the jobs leave their marks."""

    def __init__(self, processes: Processes, broker: Redis, folder: Path) -> None:
        self.processes = processes
        self.broker = broker
        self.marks_file = folder / "marks"
        self.supervised: list[Started] = []
        self._surroundings: list[dict[str, str]] = []  # of each that is supervised
        self.environ = {
            "REDIS_URL": broker.url,
            "TIDELINE_JOBS": "tests.demo_jobs",
            "TIDELINE_LEASE_SECONDS": str(LEASE_SECONDS),
            "TIDELINE_RUNNERS": "2",
        }

    def start(self, *names: str, **environ: str) -> list[Started]:
        """Start processes of the Procfile, in this house's surroundings."""
        return [self.processes.start(name, **self.environ | environ) for name in names]

    def runner(self, **environ: str) -> Started:
        """Start a runner."""
        (runner,) = self.start("runner", **environ)
        return runner

    def scanners(self) -> None:
        """Start what fires, launches and rescues: a worker for the scans, and beat."""
        self.start("worker", "beat")

    def supervise(self, *names: str, **environ: str) -> None:
        """Start processes, and start them again when they end, whenever the house is looked after."""
        self.supervised += self.start(*names, **environ)
        self._surroundings += [environ] * len(names)

    def look_after(self) -> None:
        """Start again what has ended, as the supervisor of an installation does."""
        for place, process in enumerate(self.supervised):
            if not process.runs():
                (self.supervised[place],) = self.start(process.name, **self._surroundings[place])

    def close(self) -> None:
        """Let every process finish what it has in hand, and end."""
        running = [process for process in self.processes.started if process.runs()]
        for process in running:
            process.terminate()
        for process in running:
            process.wait()

    def wait_until(self, condition: Callable[[], object], seconds: float = 30, what: str = "") -> None:
        """Wait until the condition holds, and look after the house meanwhile."""

        def holds() -> object:
            self.look_after()
            return condition()

        self.processes.wait_until(holds, seconds, what)

    def open(self, job: str = "test.items", **how: Any) -> TaskRun:
        """Open a run of the job, due now.

        Args:
            how: what is a field of an Opening is that, all else are parameters of the job.
        """
        now = database_now()
        fields = {name: how.pop(name) for name in list(how) if name in Opening.__dataclass_fields__}
        usual = {"name": job, "job": job, "stat_date": now.date(), "planned_at": now, "due_at": now}
        opening = Opening(**usual | fields, params=self._params(job, how))
        (run,) = open_runs([opening], now=now, trigger=EventTrigger.MANUAL, actor="the test")
        return run

    def every(self, seconds: int, /, job: str = "test.one", **how: Any) -> Schedule:
        """Make a schedule of the job that is due every so many seconds.

        Args:
            how: what is a field of a Schedule is that, all else are parameters of the job.
        """
        names = {field.name for field in Schedule._meta.get_fields()}
        fields = {name: how.pop(name) for name in list(how) if name in names}
        now = database_now()
        return make_schedule(job=job, interval_seconds=seconds, params=self._params(job, how), now=now, **fields)

    def _params(self, job: str, params: dict[str, Any]) -> dict[str, Any]:
        return {"file": str(self.marks_file), **params} if job.startswith("test.") else params

    def marks(self, run: TaskRun | None = None) -> list[dict[str, Any]]:
        """Return the marks that jobs left, of one run or of all, in their order."""
        lines = self.marks_file.read_text().splitlines() if self.marks_file.exists() else []
        marks = [json.loads(line) for line in lines]
        return [mark for mark in marks if run is None or mark["run"] == run.pk]

    def items(self, run: TaskRun) -> list[Any]:
        """Return the items that were taken, in their order."""
        return [mark["item"] for mark in self.marks(run) if "item" in mark]

    def wait_until_holds(self, *runs: TaskRun) -> list[dict[str, Any]]:
        """Wait until the runs' jobs wait for what is done to them, and return their marks that say so."""
        return [self._wait_for_hold(run) for run in runs]

    def _wait_for_hold(self, run: TaskRun) -> dict[str, Any]:
        def holds() -> list[dict[str, Any]]:
            return [mark for mark in self.marks(run) if "holds" in mark]

        self.wait_until(holds, what=f"run {run.pk} to hold")
        return holds()[0]

    def wait_for_item(self, run: TaskRun, item: Any, seconds: float = 30) -> None:
        """Wait until the run's job has taken the item."""
        self.wait_until(lambda: item in self.items(run), seconds, f"item {item} of run {run.pk}")

    def wait_for(self, state: RunState, *runs: TaskRun, seconds: float = 30) -> None:
        """Wait until all these runs are in the state, and read them again."""

        def all_there() -> bool:
            found = TaskRun.objects.filter(pk__in=[run.pk for run in runs], state=state).count()
            return found == len(runs)

        self.wait_until(all_there, seconds, f"{len(runs)} runs to be {state}")
        for run in runs:
            run.refresh_from_db()

    def outcomes(self, run: TaskRun) -> list[str]:
        """Return how the run's attempts ended, the first one first."""
        return list(Attempt.objects.filter(run=run).order_by("number").values_list("outcome", flat=True))

"""Case 15 of Celery's: a process that is killed amid the commit of a step has done all of the step, or nothing."""

import os
import random
import signal
from pathlib import Path

import pytest

from alerts.models import Alert
from scheduler.models import Attempt, TaskRun
from scheduler.states import RunState
from tests.faults.books import audit_runs
from tests.processes import Processes, cut_sessions

pytestmark = pytest.mark.slow

KILLS = 6
JOBS = {"TIDELINE_JOBS": "tests.demo_jobs"}


def test_of_a_run_that_fails_its_state_history_attempt_and_alert_are_there_together_or_not_at_all(
    processes: Processes, tmp_path: Path
) -> None:
    chance = random.Random(15)
    for _ in range(KILLS):
        wanted = Attempt.objects.count() + chance.randint(1, 40)
        failer = processes.run("failer", f"exec python -m tests.races.failer {tmp_path}/marks", **JOBS)
        processes.wait_until(lambda: Attempt.objects.count() >= wanted, what="runs to fail")  # noqa: B023 - used at once
        os.killpg(failer.pid, chance.choice([signal.SIGTERM, signal.SIGKILL]))
        failer.wait()
    cut_sessions()  # what they had sent is committed or not

    audit_runs()
    failed = TaskRun.objects.filter(state=RunState.FAILED).values_list("pk", flat=True)
    assert set(Alert.objects.values_list("fingerprint", flat=True)) == {f"run_failed:run:{pk}" for pk in failed}
    assert TaskRun.objects.filter(state=RunState.RUNNING).count() <= KILLS

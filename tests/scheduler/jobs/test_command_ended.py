"""How a command is ended, with all that it started: real process trees, real kills."""

import os
import signal
from pathlib import Path

import pytest

from project.kit.clock import database_now
from scheduler import operations
from scheduler.models import TaskRun
from scheduler.states import AttemptOutcome, RunState
from tests.scheduler.jobs.conftest import Runs
from tests.scheduler.jobs.waiting import is_alive, meanwhile, pids_in, wait_until

BASH = {"shell": "/bin/bash"}
# A family that a SIGTERM does not impress: the shell, a child, and a grandchild in a session of its own, which is
# what a daemon does. Each writes its number.
STUBBORN_FAMILY = """
trap '' TERM
echo $$ >> pids
sh -c 'trap "" TERM; echo $$ >> pids; while :; do sleep 0.1; done' &
setsid sh -c 'trap "" TERM; echo $$ >> pids; while :; do sleep 0.1; done' &
while :; do sleep 0.1; done
"""


def ask_to_cancel(run: TaskRun) -> None:
    operations.cancel(run, now=database_now(), actor="a test")


class TestEveryEndTakesTheWholeFamily:
    def family(self, runs: Runs, folder: Path, **columns: object) -> TaskRun:
        return runs.open("command", {"command": STUBBORN_FAMILY, "cwd": str(folder)}, **columns)

    @pytest.mark.slow
    def test_a_cancel_ends_it(self, runs: Runs, tmp_path: Path) -> None:
        run = self.family(runs, tmp_path)

        def cancel() -> None:
            pids_in(tmp_path / "pids", 3)
            ask_to_cancel(run)

        with meanwhile(cancel):
            assert runs.execute(run).state == RunState.CANCELLED
        assert [pid for pid in pids_in(tmp_path / "pids", 3) if is_alive(pid)] == []

    @pytest.mark.slow
    def test_a_timeout_ends_it_before_the_worker_has_to_kill(self, runs: Runs, tmp_path: Path) -> None:
        executed = runs.execute(self.family(runs, tmp_path, timeout_seconds=1))

        assert executed.attempt.outcome == AttemptOutcome.TIMED_OUT
        assert executed.attempt.error == "The attempt took longer than its timeout of 1 s."
        assert [pid for pid in pids_in(tmp_path / "pids", 3) if is_alive(pid)] == []

    @pytest.mark.slow
    def test_a_stopping_worker_ends_it_and_hands_it_back(self, runs: Runs, tmp_path: Path) -> None:
        run = self.family(runs, tmp_path)

        def stop() -> None:
            pids_in(tmp_path / "pids", 3)
            runs.signals.stop()

        with meanwhile(stop):
            executed = runs.execute(run)
        assert executed.state == RunState.PENDING
        assert executed.attempt.outcome == AttemptOutcome.HANDED_BACK
        assert [pid for pid in pids_in(tmp_path / "pids", 3) if is_alive(pid)] == []

    def test_a_lost_lease_ends_it_without_a_last_word(self, runs: Runs, tmp_path: Path) -> None:
        command = "trap 'touch warned; exit 0' TERM; echo $$ >> pids; while :; do sleep 0.1; done"
        run = runs.open("command", {"command": command, "cwd": str(tmp_path)})

        def take_the_lease() -> None:
            pids_in(tmp_path / "pids", 1)
            TaskRun.objects.filter(pk=run.pk).update(lease_token=99)

        with meanwhile(take_the_lease):
            executed = runs.execute(run)
        assert executed.state == RunState.RUNNING  # the other worker's
        assert not is_alive(*pids_in(tmp_path / "pids", 1))
        assert not (tmp_path / "warned").exists()

    def test_the_kill_of_the_executing_process_ends_it(self, runs: Runs, tmp_path: Path) -> None:
        process = runs.execute_elsewhere(self.family(runs, tmp_path))
        pids = pids_in(tmp_path / "pids", 3)

        os.killpg(process.pid, signal.SIGKILL)
        process.wait()

        wait_until(lambda: not any(is_alive(pid) for pid in pids), "the end of the family")

    def test_the_kill_of_its_guard_ends_it(self, runs: Runs, tmp_path: Path) -> None:
        command = "echo $$ >> pids; echo $PPID >> guard; (echo $BASHPID >> pids; exec sleep 60) & sleep 60"
        run = runs.open("command", {"command": command, "cwd": str(tmp_path), **BASH})

        def kill_the_guard() -> None:
            pids_in(tmp_path / "pids", 2)
            os.kill(pids_in(tmp_path / "guard", 1)[0], signal.SIGKILL)

        with meanwhile(kill_the_guard):
            executed = runs.execute(run)
        assert executed.attempt.error == "The command was ended by SIGKILL (signal 9)."
        wait_until(lambda: not any(is_alive(pid) for pid in pids_in(tmp_path / "pids", 2)), "the end of the family")

    def test_one_that_heeds_the_signal_may_say_goodbye_and_save_its_progress(self, runs: Runs, tmp_path: Path) -> None:
        command = (
            'trap \'echo goodbye; echo "{\\"page\\": 4}" > "$TIDELINE_PROGRESS_FILE"; exit 0\' TERM;'
            " echo $$ >> pids; while :; do sleep 0.05; done"
        )
        run = runs.open("command", {"command": command, "cwd": str(tmp_path)})

        def stop() -> None:
            pids_in(tmp_path / "pids", 1)
            runs.signals.stop()

        with meanwhile(stop):
            executed = runs.execute(run)
        assert executed.state == RunState.PENDING
        assert executed.output.endswith("goodbye\n")  # before it the shell reports the end of its sleep
        assert executed.run.progress == {"page": 4}

    def test_it_is_handed_back_and_not_failed_when_the_stop_signal_reached_it_first(
        self, runs: Runs, tmp_path: Path
    ) -> None:
        run = runs.open("command", {"command": "echo $$ >> pids; exec sleep 60", "cwd": str(tmp_path)})

        def stop_the_whole_control_group() -> None:
            (pid,) = pids_in(tmp_path / "pids", 1)
            os.kill(pid, signal.SIGTERM)
            wait_until(lambda: not is_alive(pid), "the command's end")
            runs.signals.stop()

        with meanwhile(stop_the_whole_control_group):
            assert runs.execute(run).state == RunState.PENDING

    def test_each_process_is_asked_to_end_only_once(self, runs: Runs, tmp_path: Path) -> None:
        command = "trap 'echo asked' TERM; echo $$ >> pids; i=0; while [ $i -lt 20 ]; do sleep 0.05; i=$((i+1)); done"
        run = runs.open("command", {"command": command, "cwd": str(tmp_path)})

        def cancel() -> None:
            pids_in(tmp_path / "pids", 1)
            ask_to_cancel(run)

        with meanwhile(cancel):
            executed = runs.execute(run)
        assert executed.output.count("asked") == 1

"""The job `command`: real shells, real process trees, real kills."""

import json
import os
import pwd
import signal
import time
from pathlib import Path

import pytest
from pytest_django import Settings

from project.kit.clock import database_now
from scheduler import operations
from scheduler.jobs.registry import BadParams, get_job
from scheduler.models import TaskRun
from scheduler.states import AttemptOutcome, RunState
from tests.scheduler.jobs.conftest import Executed, Runs, is_alive, meanwhile, pids_in, wait_until

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


def shell(runs: Runs, command: str, **params: object) -> Executed:
    return runs.perform("command", {"command": command, **params})


def ask_to_cancel(run: TaskRun) -> None:
    operations.cancel(run, now=database_now(), actor="a test")


class TestHowItEnds:
    def test_a_command_with_exit_status_0_is_done_and_its_output_is_kept(self, runs: Runs) -> None:
        executed = shell(runs, "echo hello; echo trouble >&2; echo bye")

        assert executed.state == RunState.DONE
        assert executed.run.result == {"exit_status": 0}
        assert executed.output == "hello\ntrouble\nbye\n"

    def test_another_exit_status_is_a_failure_that_says_it(self, runs: Runs) -> None:
        executed = shell(runs, "echo before; exit 3")

        assert executed.state == RunState.FAILED
        assert executed.attempt.error == "The command ended with exit status 3."
        assert executed.attempt.traceback == ""
        assert executed.output == "before\n"

    @pytest.mark.parametrize(
        ("command", "sentence"),
        [
            ("kill -9 $$", "The command was ended by SIGKILL (signal 9)."),
            ("no-such-program", "The command ended with exit status 127 (the shell did not find it)."),
            (
                "sh -c 'kill -9 $$'; exit $?",
                "The command ended with exit status 137 (a program in it was ended by SIGKILL (signal 9)).",
            ),
        ],
    )
    def test_a_failure_says_what_its_number_means(self, runs: Runs, command: str, sentence: str) -> None:
        assert shell(runs, command).attempt.error == sentence

    def test_what_was_left_in_the_background_lives_on_as_with_cron_and_is_mentioned(
        self, runs: Runs, tmp_path: Path
    ) -> None:
        executed = shell(runs, "sleep 60 >/dev/null 2>&1 & echo $! >> pids", cwd=str(tmp_path))

        (pid,) = pids_in(tmp_path / "pids", 1)
        try:
            assert executed.state == RunState.DONE
            assert executed.output == "[1 process was left running in the background]\n"
            assert is_alive(pid)
        finally:
            os.kill(pid, signal.SIGKILL)

    def test_a_background_process_that_goes_on_printing_does_not_keep_the_run(self, runs: Runs, tmp_path: Path) -> None:
        executed = shell(runs, "(echo $BASHPID >> pids; exec yes) & sleep 0.1", cwd=str(tmp_path), **BASH)

        assert executed.state == RunState.DONE
        (pid,) = pids_in(tmp_path / "pids", 1)
        wait_until(lambda: not is_alive(pid), "the printer's end, for want of a reader")


class TestOutput:
    def test_it_is_in_the_row_while_the_command_runs_and_is_silent(self, runs: Runs, tmp_path: Path) -> None:
        run = runs.open(
            "command", {"command": "echo begun; while [ ! -e go ]; do sleep 0.05; done", "cwd": str(tmp_path)}
        )

        def let_go_when_shown() -> None:
            wait_until(lambda: run.attempts.filter(output="begun\n").exists(), "the first line in the row")
            (tmp_path / "go").touch()

        with meanwhile(let_go_when_shown):
            assert runs.execute(run).state == RunState.DONE

    def test_the_last_64_kib_are_kept_and_cut_at_a_character(self, runs: Runs) -> None:
        executed = shell(runs, "printf 'x'; i=0; while [ $i -lt 5000 ]; do printf '€uro-%05d-€' $i; i=$((i+1)); done")

        head, _, kept = executed.output.partition("\n")
        assert head == "[the beginning was dropped]"
        assert "\N{REPLACEMENT CHARACTER}" not in kept
        assert kept.endswith("€uro-04999-€")
        assert 64 * 1024 - 3 <= len(kept.encode()) <= 64 * 1024

    def test_bytes_that_are_no_text_do_not_stop_it(self, runs: Runs) -> None:
        executed = shell(runs, r"printf '\377\000end\n'")

        assert executed.state == RunState.DONE
        assert executed.output.endswith("end\n")


class TestSurroundings:
    def test_nothing_of_the_workers_environment_reaches_it(self, runs: Runs, monkeypatch: pytest.MonkeyPatch) -> None:
        for name in ("SECRET_KEY", "DATABASE_URL", "REDIS_URL", "FLOWER_BASIC_AUTH", "AWS_SECRET_ACCESS_KEY"):
            monkeypatch.setenv(name, "do-not-show")

        executed = shell(runs, "env; cat /proc/$PPID/environ | tr '\\0' '\\n'")

        names = {line.partition("=")[0] for line in executed.output.splitlines()}
        assert "do-not-show" not in executed.output
        assert names - {"PWD", "_", "SHLVL", "OLDPWD"} == {
            "HOME", "LOGNAME", "USER", "PATH", "SHELL", "LANG",
            "TIDELINE_STAT_DATE", "TIDELINE_PLANNED_AT", "TIDELINE_PROGRESS_FILE",
            "TIDELINE_RUN_ID", "TIDELINE_ATTEMPT",
        }  # fmt: skip

    def test_it_knows_its_run(self, runs: Runs) -> None:
        executed = shell(runs, "echo $TIDELINE_STAT_DATE $TIDELINE_PLANNED_AT $TIDELINE_RUN_ID $TIDELINE_ATTEMPT")

        run = executed.run
        assert executed.output == f"{run.stat_date} {run.planned_at.isoformat()} {run.pk} 1\n"

    def test_the_parameters_set_its_environment_directory_input_and_shell(self, runs: Runs, tmp_path: Path) -> None:
        executed = shell(
            runs,
            'pwd; cat; echo "$GREETING $HOME" ${BASH_VERSION:+bash}',
            env={"GREETING": "hello world", "HOME": "/elsewhere"},
            cwd=str(tmp_path),
            stdin="one\ntwo\n",
            **BASH,
        )

        assert executed.output == f"{tmp_path}\none\ntwo\nhello world /elsewhere bash\n"

    def test_without_a_directory_it_starts_at_home_and_without_input_it_reads_nothing(self, runs: Runs) -> None:
        assert shell(runs, "pwd; cat").output == f"{pwd.getpwuid(os.geteuid()).pw_dir}\n"

    def test_it_inherits_no_descriptor_and_no_ignored_signal(
        self, runs: Runs, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        before = signal.signal(signal.SIGINT, signal.SIG_IGN)  # Celery's children do so
        open_file = os.open(tmp_path, os.O_RDONLY)
        os.set_inheritable(open_file, True)
        try:
            executed = shell(runs, "echo $(ls /proc/self/fd); grep -E 'Sig(Ign|Blk)' /proc/self/status")
        finally:
            os.close(open_file)
            signal.signal(signal.SIGINT, before)

        descriptors, *signals = executed.output.splitlines()
        assert descriptors.split()[:3] == ["0", "1", "2"]
        assert len(descriptors.split()) == 4  # the fourth is the folder that ls reads
        assert {line.split()[1] for line in signals} == {"0" * 16}

    @pytest.mark.skipif(os.geteuid() != 0, reason="only root can become another user")
    def test_root_runs_it_as_another_user_who_can_report_progress(self, runs: Runs) -> None:
        executed = shell(
            runs,
            'id -un; id -G; echo $LOGNAME; echo \'{"at": 7}\' > "$TIDELINE_PROGRESS_FILE"',
            user="nobody",
            cwd="/",
        )

        nobody = pwd.getpwnam("nobody")
        assert executed.state == RunState.DONE
        assert executed.output.splitlines() == ["nobody", str(nobody.pw_gid), "nobody"]
        assert executed.run.progress == {"at": 7}

    def test_an_ordinary_user_cannot_run_it_as_another(self, runs: Runs, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr(os, "geteuid", lambda: pwd.getpwnam("nobody").pw_uid)

        executed = shell(runs, "id", user="root")

        assert executed.attempt.error == (
            "This worker runs as “nobody” and cannot run a command as “root”:"
            " start it as root, or leave the user empty."
        )

    @pytest.mark.parametrize(
        ("params", "sentence"),
        [
            ({"user": "no-such-user"}, "There is no user “no-such-user” on the worker's machine."),
            (
                {"cwd": "/no/such/folder"},
                "The working directory “/no/such/folder” cannot be used: No such file or directory.",
            ),
            ({"shell": "/no/such/shell"}, "The shell “/no/such/shell” cannot be started: No such file or directory."),
        ],
    )
    def test_what_is_not_there_is_named(self, runs: Runs, params: dict[str, str], sentence: str) -> None:
        executed = shell(runs, "true", **params)

        assert executed.state == RunState.FAILED
        assert executed.attempt.error == sentence

    def test_it_is_refused_where_commands_are_off(self, runs: Runs, settings: Settings, tmp_path: Path) -> None:
        settings.TIDELINE_ALLOW_COMMANDS = False

        executed = shell(runs, f"touch {tmp_path}/ran")

        assert executed.attempt.error == (
            "Shell commands are off on this worker. Set TIDELINE_ALLOW_COMMANDS=1 in its environment to allow them."
        )
        assert not (tmp_path / "ran").exists()


class TestProgress:
    def test_the_file_begins_with_the_runs_progress_and_what_is_written_there_becomes_it(self, runs: Runs) -> None:
        command = 'cat "$TIDELINE_PROGRESS_FILE"; cat > "$TIDELINE_PROGRESS_FILE"'
        written = '{"page": 9, "done": 9, "total": 12}'
        executed = runs.perform(
            "command",
            {"command": f"{command} <<< '{written}'", **BASH},
            progress={"page": 8, "seen": [1]},
            progress_done=8,
        )

        assert json.loads(executed.output) == {"page": 8, "seen": [1], "done": 8}
        assert executed.run.progress == {"page": 9, "seen": [1]}
        assert (executed.run.progress_done, executed.run.progress_total) == (9, 12)

    def test_a_change_is_checkpointed_while_the_command_runs(self, runs: Runs, tmp_path: Path) -> None:
        command = 'echo \'{"page": 1}\' > "$TIDELINE_PROGRESS_FILE"; while [ ! -e go ]; do sleep 0.05; done'
        run = runs.open("command", {"command": command, "cwd": str(tmp_path)})

        def let_go_when_checkpointed() -> None:
            wait_until(lambda: TaskRun.objects.get(pk=run.pk).progress == {"page": 1}, "the checkpoint")
            (tmp_path / "go").touch()

        with meanwhile(let_go_when_checkpointed):
            assert runs.execute(run).state == RunState.DONE

    def test_half_written_content_is_awaited(self, runs: Runs, tmp_path: Path) -> None:
        command = (
            'printf \'{"page": \' > "$TIDELINE_PROGRESS_FILE"; touch half; while [ ! -e go ]; do sleep 0.05; done;'
            " printf '5}' >> \"$TIDELINE_PROGRESS_FILE\""
        )
        run = runs.open("command", {"command": command, "cwd": str(tmp_path)})

        def let_go_after_some_looks() -> None:
            wait_until((tmp_path / "half").exists, "the half-written file")
            runs.signals.wait_for_looks()
            (tmp_path / "go").touch()

        with meanwhile(let_go_after_some_looks):
            executed = runs.execute(run)

        assert executed.run.progress == {"page": 5}
        assert executed.output == ""

    @pytest.mark.parametrize("content", ["[1, 2]", "{", "NaN", '{"a": NaN}', r'{"a": "\u0000"}'])
    def test_content_that_is_no_progress_is_mentioned_and_fails_nothing(self, runs: Runs, content: str) -> None:
        executed = runs.perform(
            "command",
            {"command": 'cat > "$TIDELINE_PROGRESS_FILE"', "stdin": content.replace("\\", "\\")},
            progress={"page": 1},
        )

        assert executed.state == RunState.DONE
        assert executed.run.progress == {"page": 1}
        assert "checkpointed" in executed.output

    @pytest.mark.parametrize("count", ["-1", "1.5", "true", '"7"', str(2**63)])
    def test_a_count_that_is_none_moves_no_bar(self, runs: Runs, count: str) -> None:
        executed = shell(runs, f'echo \'{{"page": 1, "done": {count}}}\' > "$TIDELINE_PROGRESS_FILE"')

        assert executed.state == RunState.DONE
        assert executed.run.progress_done is None
        assert executed.run.progress == {"page": 1}

    @pytest.mark.parametrize("trick", ["rm -f F; mkfifo F", "ln -sf /etc/hostname F", "rm -f F; mkdir F"])
    def test_something_else_in_the_files_place_is_not_read(self, runs: Runs, trick: str) -> None:
        executed = shell(runs, trick.replace("F", '"$TIDELINE_PROGRESS_FILE"'))

        assert executed.state == RunState.DONE
        assert executed.run.progress == {}

    def test_its_folder_is_private_and_gone_afterwards(self, runs: Runs) -> None:
        executed = shell(runs, 'stat -c %a "$(dirname "$TIDELINE_PROGRESS_FILE")"; echo "$TIDELINE_PROGRESS_FILE"')

        mode, path = executed.output.splitlines()
        assert mode == "700"
        assert not Path(path).parent.exists()


class TestEveryEndTakesTheWholeFamily:
    def family(self, runs: Runs, folder: Path, **columns: object) -> TaskRun:
        return runs.open("command", {"command": STUBBORN_FAMILY, "cwd": str(folder)}, **columns)

    def test_a_cancel_ends_it(self, runs: Runs, tmp_path: Path) -> None:
        run = self.family(runs, tmp_path)

        def cancel() -> None:
            pids_in(tmp_path / "pids", 3)
            ask_to_cancel(run)

        with meanwhile(cancel):
            assert runs.execute(run).state == RunState.CANCELLED
        assert [pid for pid in pids_in(tmp_path / "pids", 3) if is_alive(pid)] == []

    def test_a_timeout_ends_it_before_the_worker_has_to_kill(self, runs: Runs, tmp_path: Path) -> None:
        executed = runs.execute(self.family(runs, tmp_path, timeout_seconds=1))

        assert executed.attempt.outcome == AttemptOutcome.TIMED_OUT
        assert executed.attempt.error == "The attempt took longer than its timeout of 1 s."
        assert [pid for pid in pids_in(tmp_path / "pids", 3) if is_alive(pid)] == []

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


def test_a_silent_command_costs_its_worker_almost_no_processor_time(runs: Runs) -> None:
    began, spent = time.monotonic(), time.process_time()
    shell(runs, "sleep 3")

    assert time.process_time() - spent < (time.monotonic() - began) / 10


class TestParams:
    @pytest.mark.parametrize(
        ("params", "sentence"),
        [
            ({}, "Parameter “command”: Field required."),
            ({"command": ""}, "Parameter “command”: String should have at least 1 character."),
            ({"command": 5}, "Parameter “command”: Input should be a valid string."),
            ({"command": "a\x00b"}, "Parameter “command”: There must be no NUL character in it."),
            ({"command": "true", "comand": "x"}, "Parameter “comand”: Extra inputs are not permitted."),
            (
                {"command": "true", "shell": "bash"},
                "Parameter “shell”: Give the whole path of the shell, for example /bin/bash.",
            ),
            (
                {"command": "true", "env": {"A=B": "s3cret"}},
                "Parameter “env”: The name of a variable must not be empty and must hold no “=”.",
            ),
            ({"command": "true", "env": {"A": 1}}, "Parameter “env.A”: Input should be a valid string."),
        ],
    )
    def test_what_is_wrong_is_said_in_a_sentence(self, params: dict[str, object], sentence: str) -> None:
        with pytest.raises(BadParams) as refusal:
            get_job("command").read_params(params)

        assert str(refusal.value) == sentence

    def test_values_of_the_environment_are_not_shown(self) -> None:
        params = get_job("command").read_params({"command": "true", "env": {"PGPASSWORD": "s3cret"}})

        assert "s3cret" not in repr(params)

    def test_each_parameter_is_explained_to_people(self) -> None:
        fields = get_job("command").schema()["properties"].values()

        assert all(field["title"] and field["description"] for field in fields)

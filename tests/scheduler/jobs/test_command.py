"""The job `command`: how it ends by itself, what it prints, its surroundings and parameters."""

import os
import pwd
import signal
import time
from pathlib import Path

import pytest
from pytest_django import Settings

from scheduler.jobs.registry import BadParams, get_job
from scheduler.states import RunState
from tests.scheduler.jobs.conftest import Executed, Runs
from tests.scheduler.jobs.waiting import is_alive, meanwhile, pids_in, wait_until

BASH = {"shell": "/bin/bash"}


def shell(runs: Runs, command: str, **params: object) -> Executed:
    return runs.perform("command", {"command": command, **params})


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
            'pwd; cat; echo "$GREETING $HOME" ${BASH_VERSION:+bash} | tr a-z A-Z',  # as they are they would be masked
            env={"GREETING": "hello world", "HOME": "/elsewhere"},
            cwd=str(tmp_path),
            stdin="one\ntwo\n",
            **BASH,
        )

        assert executed.output == f"{tmp_path}\none\ntwo\nHELLO WORLD /ELSEWHERE BASH\n"

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


@pytest.mark.slow
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

"""The job `management`: Django management commands, called in this process."""

import sys
from collections.abc import Callable
from typing import Any

import pytest
from django.core.management import BaseCommand, CommandError, get_commands
from django.core.management import base as management_base
from django.db import connection, transaction

from project.kit.clock import database_now
from scheduler import operations
from scheduler.jobs.registry import BadParams, get_job
from scheduler.models import TaskRun
from scheduler.states import RunState
from tests.scheduler.jobs.conftest import Runs
from tests.scheduler.jobs.waiting import wait_until


class Probe(BaseCommand):
    """A command that does what the test says."""

    act: Callable[["Probe", dict[str, Any]], str | None]

    def add_arguments(self, parser: management_base.CommandParser) -> None:
        parser.add_argument("words", nargs="*")
        parser.add_argument("--times", type=int, default=1)

    def handle(self, *args: Any, **options: Any) -> str | None:
        return type(self).act(self, options)


@pytest.fixture
def probe(monkeypatch: pytest.MonkeyPatch) -> type[Probe]:
    """The command `probe`, as if an installed app had it."""
    commands = {**get_commands(), "probe": Probe()}
    monkeypatch.setattr("scheduler.jobs.management.get_commands", lambda: commands)
    monkeypatch.setattr("django.core.management.get_commands", lambda: commands)
    return Probe


def perform(runs: Runs, **params: Any) -> Any:
    return runs.perform("management", {"command": "probe", **params})


def test_arguments_and_options_reach_it_and_what_it_prints_is_kept(runs: Runs, probe: type[Probe]) -> None:
    def act(command: Probe, options: dict[str, Any]) -> str:
        for _ in range(options["times"]):
            command.stdout.write(" ".join(options["words"]))
        command.stderr.write("trouble")
        print("printed")
        print("mishap", file=sys.stderr)
        return "returned"

    probe.act = act

    executed = perform(runs, args=["a", 7], options={"times": 2})

    assert executed.state == RunState.DONE
    assert executed.output == "a 7\na 7\ntrouble\nprinted\nmishap\nreturned\n"


def test_what_it_prints_is_in_the_row_while_it_runs(runs: Runs, probe: type[Probe]) -> None:
    def act(command: Probe, options: dict[str, Any]) -> None:
        def is_shown() -> bool:
            command.stdout.write("tick")
            return TaskRun.objects.filter(attempts__output__contains="begun").exists()

        command.stdout.write("begun")
        wait_until(is_shown, "the output in the row")

    probe.act = act

    assert perform(runs).state == RunState.DONE


@pytest.mark.parametrize(
    ("error", "sentence"),
    [
        (CommandError("No such shop: 7."), "probe: No such shop: 7."),
        (SystemExit(4), "probe ended with exit status 4."),
        (SystemExit("gave up"), "probe: gave up"),
    ],
)
def test_its_error_is_the_runs_failure(runs: Runs, probe: type[Probe], error: BaseException, sentence: str) -> None:
    def act(command: Probe, options: dict[str, Any]) -> None:
        raise error

    probe.act = act

    executed = perform(runs)

    assert executed.state == RunState.FAILED
    assert executed.attempt.error == sentence
    assert executed.attempt.traceback == ""


@pytest.mark.parametrize("code", [0, None])
def test_an_exit_without_a_status_is_done(runs: Runs, probe: type[Probe], code: int | None) -> None:
    probe.act = lambda command, options: sys.exit(code)

    assert perform(runs).state == RunState.DONE


def test_another_exception_is_a_failure_with_its_traceback(runs: Runs, probe: type[Probe]) -> None:
    probe.act = lambda command, options: str(1 / 0)

    executed = perform(runs)

    assert executed.attempt.error == "ZeroDivisionError: division by zero"
    assert "ZeroDivisionError" in executed.attempt.traceback


def test_wrong_arguments_are_the_commands_own_sentence(runs: Runs, probe: type[Probe]) -> None:
    probe.act = lambda command, options: None

    assert "invalid int value: 'many'" in perform(runs, args=["--times", "many"]).attempt.error
    assert "Unknown option(s) for probe command: colour" in perform(runs, options={"colour": "red"}).attempt.error


def test_a_question_is_not_waited_for(runs: Runs, probe: type[Probe]) -> None:
    probe.act = lambda command, options: input("Are you sure? ")

    executed = perform(runs)

    assert executed.attempt.error.startswith("EOFError")
    assert executed.output.startswith("Are you sure?")


def test_one_that_prints_gives_way_to_a_cancel(runs: Runs, probe: type[Probe]) -> None:
    def act(command: Probe, options: dict[str, Any]) -> None:
        operations.cancel(TaskRun.objects.get(), now=database_now(), actor="a test")

        def never() -> bool:
            command.stdout.write("still here")
            return False

        wait_until(never, "an interruption")

    probe.act = act

    executed = perform(runs)

    assert executed.state == RunState.CANCELLED, executed.everything


@pytest.mark.slow
def test_printing_amid_its_transaction_locks_no_row_and_breaks_nothing(runs: Runs, probe: type[Probe]) -> None:
    seen: list[str] = []

    def act(command: Probe, options: dict[str, Any]) -> None:
        with transaction.atomic():
            before = writes_of_this_transaction()
            wait_until(lambda: command.stdout.write("x" * 1000) or len(seen) > 100 or seen.append("x"), "output")
            assert writes_of_this_transaction() == before

    probe.act = act

    assert perform(runs).state == RunState.DONE


def writes_of_this_transaction() -> Any:
    with connection.cursor() as cursor:
        cursor.execute("SELECT pg_current_xact_id_if_assigned()")
        return cursor.fetchone()


def test_the_process_has_its_streams_back_afterwards(runs: Runs, probe: type[Probe]) -> None:
    before = sys.stdin, sys.stdout, sys.stderr
    probe.act = lambda command, options: str(1 / 0)

    perform(runs)

    assert (sys.stdin, sys.stdout, sys.stderr) == before


def test_a_real_command_works(runs: Runs) -> None:
    executed = runs.perform("management", {"command": "check", "options": {"verbosity": 1}})

    assert executed.state == RunState.DONE, executed.everything


@pytest.mark.parametrize(
    ("params", "sentence"),
    [
        (
            {"command": "clearsession"},
            "Parameter “command”: There is no management command “clearsession” here; close to it: “clearsessions”.",
        ),
        ({"command": "xyzzy"}, "Parameter “command”: There is no management command “xyzzy” here."),
        ({"command": "runserver"}, "Parameter “command”: “runserver” cannot be a job: it never ends."),
        ({"command": "shell"}, "Parameter “command”: “shell” cannot be a job: it waits for a person."),
        (
            {"command": "flush"},
            "Parameter “command”: “flush” cannot be a job: it empties the database, and Tideline's own rows with it.",
        ),
        ({"command": "up"}, "Parameter “command”: “up” cannot be a job: it never ends."),
        (
            {"command": "check", "options": {"stdout": 1}},
            "Parameter “options”: “stdout” leads to the run's output; leave it out.",
        ),
    ],
)
def test_what_is_wrong_is_said_in_a_sentence(params: dict[str, object], sentence: str) -> None:
    with pytest.raises(BadParams) as refusal:
        get_job("management").read_params(params)

    assert str(refusal.value) == sentence

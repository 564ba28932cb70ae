"""The command line as a whole: every verb is documented, speaks to programs, and ends by Ctrl-C with a status."""

import json
from datetime import datetime
from io import StringIO
from pathlib import Path
from typing import Any

import pytest
from django.core.management import CommandError, call_command, get_commands, load_command_class

from project.kit.commands import Status, Told, Verb

APPS = ("project", "scheduler", "quotas", "alerts", "scheduler.polling")
OWN = {name: app for name, app in sorted(get_commands().items()) if app in APPS}
SERVERS = ("up", "simulate_carrier")  # they run until they are stopped, and have no answer
VERBS = [name for name in OWN if name not in SERVERS]
PAGE = (Path(__file__).parents[2] / "docs/command-line.md").read_text()


def test_these_are_the_verbs() -> None:
    asked_for = {
        *("up", "doctor", "fire", "run", "backfill", "cancel", "resume", "approve", "why", "preview"),
        *("import_crontab", "import_celery_beat", "quota", "polling_init", "polling_mode", "polling_stats"),
        *("simulate_carrier", "send_test_alert", "prune"),
    }
    assert asked_for <= set(OWN)


@pytest.mark.parametrize("name", OWN)
def test_a_verb_stands_on_the_page_of_the_command_line(name: str) -> None:
    assert f"`{name}" in PAGE, f"say in docs/command-line.md what {name} does"


@pytest.mark.parametrize("name", VERBS)
def test_a_verb_speaks_to_programs_too(name: str) -> None:
    asked = ["list"] if name == "quota" else []
    assert "--json" in help_of(name, *asked)


@pytest.mark.parametrize("name", OWN)
def test_a_verb_says_what_it_does(name: str) -> None:
    command = load_command_class(OWN[name], name)
    assert len(command.help) > 20


def help_of(name: str, *asked: str) -> str:
    """Return what `manage.py NAME --help` prints."""
    parser = load_command_class(OWN[name], name).create_parser("manage.py", name)
    if not asked:
        return parser.format_help()
    subparsers = parser._subparsers._group_actions[0].choices  # type: ignore[union-attr]
    return str(subparsers[asked[0]].format_help())  # type: ignore[call-overload,index]


class Interrupted(Verb):
    def act(self, options: dict[str, Any], now: datetime) -> Told:
        raise KeyboardInterrupt


class Refused(Verb):
    refusals = (LookupError,)

    def act(self, options: dict[str, Any], now: datetime) -> Told:
        raise LookupError("There is no such thing.")


@pytest.mark.django_db
def test_ctrl_c_ends_a_verb_with_a_status_and_no_traceback() -> None:
    beside = StringIO()
    with pytest.raises(SystemExit) as ended:
        call_command(Interrupted(), stdout=StringIO(), stderr=beside)
    assert ended.value.code == Status.INTERRUPTED
    assert beside.getvalue() == "Interrupted.\n"


@pytest.mark.django_db
def test_a_refusal_is_a_sentence_for_people_and_json_for_programs() -> None:
    answer = StringIO()
    with pytest.raises(CommandError, match=r"^There is no such thing\.$"):
        call_command(Refused(), "--json", stdout=answer)
    assert json.loads(answer.getvalue()) == {"error": "There is no such thing."}

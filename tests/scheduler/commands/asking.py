"""Verbs of the command line, called as a script calls them: what they print, and their exit status."""

import json
from typing import Any

import pytest
from django.core.management import CommandError, call_command

from scheduler.management import following
from scheduler.management.verbs import actor

ME = actor()


class Shell:
    """Calls verbs and reads what they print."""

    def __init__(self, capsys: pytest.CaptureFixture[str]) -> None:
        self._capsys = capsys
        self.progress = ""

    def says(self, verb: str, *args: object, status: int = 0) -> str:
        """Return what the verb prints, once its status is as expected."""
        try:
            call_command(verb, *map(str, args))
            ended = 0
        except SystemExit as end:
            ended = int(str(end.code))
        printed = self._capsys.readouterr()
        self.progress = printed.err
        assert ended == status, printed.out
        return printed.out.strip()

    def values(self, verb: str, *args: object, status: int = 0) -> Any:
        """Return what the verb tells programs."""
        return json.loads(self.says(verb, *args, "--json", status=status))

    def refuses(self, verb: str, *args: object) -> str:
        """Return the sentence with which the verb fails; for programs it is in the JSON too."""
        with pytest.raises(CommandError) as refused:
            call_command(verb, *map(str, args), "--json")
        assert refused.value.returncode == 1
        assert json.loads(self._capsys.readouterr().out) == {"error": str(refused.value)}
        return str(refused.value)


def between_looks(monkeypatch: pytest.MonkeyPatch, *steps: Any) -> None:
    """Take one step, instead of sleeping, each time a verb waits for its next look."""
    left = iter(steps)
    monkeypatch.setattr(following, "pause", lambda seconds: next(left)())

"""The job `management`: a Django management command, called in the worker's own process."""

import difflib
from typing import Any

from django.core.management import call_command, get_commands
from django.core.management.base import CommandError
from django.utils.translation import gettext_noop as _
from pydantic import Field, field_validator

from scheduler.jobs.capturing import captured
from scheduler.jobs.context import RunContext
from scheduler.jobs.interrupts import JobFailed
from scheduler.jobs.params import Params, refusal
from scheduler.jobs.registry import job

_NEVER_ENDS = "it never ends"
_ASKS = "it waits for a person"
REFUSED = {
    "dbshell": _ASKS,
    "shell": _ASKS,
    "shell_plus": _ASKS,
    "changepassword": _ASKS,
    "runserver": _NEVER_ENDS,
    "runserver_plus": _NEVER_ENDS,
    "testserver": _NEVER_ENDS,
    "up": _NEVER_ENDS,
    "flush": "it empties the database, and Tideline's own rows with it",
    "reset_db": "it drops the database, and Tideline's own rows with it",
    "test": "it is for development, and makes a database of its own",
}


class ManagementParams(Params):
    """Which command, and what it is given."""

    command: str = Field(title=_("Command"), description=_("The command's name, as after manage.py."))
    args: list[str | int | float] = Field(
        default_factory=list, title=_("Arguments"), description=_("As on the command line, for example [--days, 30].")
    )
    options: dict[str, Any] = Field(
        default_factory=dict,
        title=_("Options"),
        description=_("By the names that the command's code uses, for example {dry_run: true}."),
    )

    @field_validator("command")
    @classmethod
    def _may_run(cls, command: str) -> str:
        if command in REFUSED:
            raise refusal(f"“{command}” cannot be a job: {REFUSED[command]}")
        if command not in get_commands():
            raise refusal(f"There is no management command “{command}” here{_suggestion(command)}")
        return command

    @field_validator("options")
    @classmethod
    def _leave_the_streams(cls, options: dict[str, Any]) -> dict[str, Any]:
        for name in ("stdout", "stderr"):
            if name in options:
                raise refusal(f"“{name}” leads to the run's output; leave it out")
        return options


@job("management", title=_("Management command"), params=ManagementParams, resumable=False)
def management(context: RunContext) -> None:
    """Call the command and keep what it prints."""
    params: ManagementParams = context.params
    arguments = [str(argument) for argument in params.args]
    try:
        with captured(context) as stream:
            call_command(params.command, *arguments, stdout=stream, stderr=stream, **params.options)
    except CommandError as error:
        raise JobFailed(f"{params.command}: {error}") from None
    except SystemExit as end:
        if end.code not in (None, 0):
            raise JobFailed(_ended(params.command, end.code)) from None


def _ended(command: str, code: object) -> str:
    return f"{command} ended with exit status {code}." if isinstance(code, int) else f"{command}: {code}"


def _suggestion(command: str) -> str:
    allowed = [name for name in get_commands() if name not in REFUSED]
    close = difflib.get_close_matches(command, allowed, n=3)
    return f"; close to it: {', '.join(f'“{name}”' for name in close)}" if close else ""

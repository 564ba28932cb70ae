"""The job `command`: a shell command, as cron would run it."""

import os
import pwd
import signal
import tempfile
import time
from contextlib import ExitStack, suppress
from dataclasses import dataclass
from datetime import UTC
from typing import IO, Annotated, Any

from django.conf import settings
from django.utils.translation import gettext
from django.utils.translation import gettext_noop as _
from pydantic import AfterValidator, Field, SecretStr, field_validator

from scheduler.jobs.context import RunContext
from scheduler.jobs.guarding import End, GuardedCommand, NotStarted
from scheduler.jobs.interrupts import JobFailed, LeaseLost, RunInterrupted
from scheduler.jobs.params import Params, refusal, without_nul
from scheduler.jobs.progress_file import ProgressFile
from scheduler.jobs.registry import job

LOOK_SECONDS = 0.25
# From the request to end to the kill. A worker that stops has 8 s for all, one whose job timed out 5 s.
GRACE_SECONDS = 3.0
# The worker itself hears of a stop a little later than a command whose whole control group was signalled.
STOP_NEWS_SECONDS = 1.0
SEARCH_PATH = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"
MEANINGS = {126: " (it cannot be executed)", 127: " (the shell did not find it)"}

Text = Annotated[str, AfterValidator(without_nul)]


class CommandParams(Params):
    """What to run, and in which surroundings."""

    command: Text = Field(
        title=_("Command"),
        description=_("Given to the shell with -c. What it prints is kept, exit status 0 means done."),
        min_length=1,
    )
    shell: Text = Field("/bin/sh", title=_("Shell"), description=_("The path of the shell."))
    env: dict[Text, SecretStr] = Field(
        default_factory=dict,
        title=_("Environment"),
        description=_("Further variables. Nothing of the worker's own environment is passed on."),
    )
    cwd: Text | None = Field(
        None, title=_("Working directory"), description=_("By default the user's home directory, as with cron.")
    )
    stdin: Text | None = Field(
        None, title=_("Standard input"), description=_("What a crontab line has after the first %.")
    )
    user: Text | None = Field(
        None,
        title=_("User"),
        description=_("Whom to run it as; another than the worker's own only where the worker is root."),
    )

    @field_validator("shell")
    @classmethod
    def _is_a_path(cls, shell: str) -> str:
        if not shell.startswith("/"):
            raise refusal(gettext("Give the whole path of the shell, for example /bin/bash"))
        return shell

    @field_validator("env")
    @classmethod
    def _can_be_an_environment(cls, env: dict[str, SecretStr]) -> dict[str, SecretStr]:
        for name, value in env.items():
            if not name or "=" in name:
                raise refusal(gettext("The name of a variable must not be empty and must hold no “=”"))
            without_nul(value.get_secret_value())
        return env


@job("command", title=_("Shell command"), params=CommandParams)
def command(context: RunContext) -> dict[str, Any]:
    """Run the command and pass on how it ended."""
    if not settings.TIDELINE_ALLOW_COMMANDS:
        raise JobFailed(
            "Shell commands are off on this worker. Set TIDELINE_ALLOW_COMMANDS=1 in its environment to allow them."
        )
    account = _account(context.params.user)
    with ExitStack() as stack:
        progress = stack.enter_context(ProgressFile(context, account.switch_to))
        stdin = stack.enter_context(tempfile.TemporaryFile())
        stdin.write((context.params.stdin or "").encode())
        stdin.seek(0)
        end = _run(context, account, progress, stdin)
    _judge(context, end)
    return {"exit_status": end.status}


def _run(context: RunContext, account: "Account", progress: ProgressFile, stdin: IO[bytes]) -> End:
    params: CommandParams = context.params
    try:
        with GuardedCommand(
            [params.shell, "-c", params.command],
            folder=_folder(params, account),
            environment=_environment(context, account, progress),
            stdin=stdin,
            account=account.as_argument(),
        ) as process:
            return _watch(context, process, progress)
    except NotStarted as error:
        raise JobFailed(_why_not_started(error, params, account)) from None


def _watch(context: RunContext, process: GuardedCommand, progress: ProgressFile) -> End:
    """Keep what it says and how far it gets until it ends, or until somebody ends it."""
    try:
        while process.ended is None:
            context.output.write(process.read(LOOK_SECONDS))
            context.output.refresh()
            progress.look()
            context.raise_if_interrupted()
    except LeaseLost:
        process.kill()  # somebody else may have begun it
        raise
    except RunInterrupted:
        process.end(GRACE_SECONDS, context.output.write)
        with suppress(RunInterrupted):
            progress.look(last=True)
        raise
    progress.look(last=True)
    return process.ended


def _judge(context: RunContext, end: End) -> None:
    if end.left_behind:
        processes = "1 process was" if end.left_behind == 1 else f"{end.left_behind} processes were"
        context.log(f"[{processes} left running in the background]")
    if end.status in (-signal.SIGTERM, 128 + signal.SIGTERM):
        _wait_for_news_of_a_stop(context)
        context.raise_if_interrupted()
    if end.status < 0:
        raise JobFailed(f"The command was ended by {_signal_name(-end.status)}.")
    if end.status > 0:
        raise JobFailed(f"The command ended with exit status {end.status}{_meaning(end.status)}.")


def _wait_for_news_of_a_stop(context: RunContext) -> None:
    deadline = time.monotonic() + STOP_NEWS_SECONDS
    while not context.stopping and time.monotonic() < deadline:
        time.sleep(0.05)


def _meaning(status: int) -> str:
    if 128 < status < 128 + signal.NSIG:
        return f" (a program in it was ended by {_signal_name(status - 128)})"
    return MEANINGS.get(status, "")


def _signal_name(number: int) -> str:
    try:
        return f"{signal.Signals(number).name} (signal {number})"
    except ValueError:
        return f"signal {number}"


# --- its surroundings ------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Account:
    """Whom a command runs as.

    Attributes:
        switch_to: the numbers of user and group to become, or None where that is the present user.
    """

    name: str
    home: str
    switch_to: tuple[int, int] | None = None

    def as_argument(self) -> str:
        """Return it as command_guard.py reads it."""
        if self.switch_to is None:
            return ""
        user, group = self.switch_to
        return f"{user}:{group}:{','.join(str(number) for number in os.getgrouplist(self.name, group))}"


def _account(name: str | None) -> Account:
    present = _present_account()
    if name in (None, present.name):
        return present
    try:
        entry = pwd.getpwnam(str(name))
    except KeyError:
        raise JobFailed(f"There is no user “{name}” on the worker's machine.") from None
    if os.geteuid() != 0:
        raise JobFailed(
            f"This worker runs as “{present.name}” and cannot run a command as “{name}”: start it as root,"
            " or leave the user empty."
        )
    return Account(entry.pw_name, entry.pw_dir, (entry.pw_uid, entry.pw_gid))


def _present_account() -> Account:
    try:
        entry = pwd.getpwuid(os.geteuid())
    except KeyError:  # containers run under numbers without a name
        return Account(str(os.geteuid()), "/")
    return Account(entry.pw_name, entry.pw_dir)


def _folder(params: CommandParams, account: Account) -> str:
    if params.cwd is not None:
        return os.path.join(account.home, params.cwd)
    return account.home if os.path.isdir(account.home) else "/"


def _environment(context: RunContext, account: Account, progress: ProgressFile) -> dict[str, str]:
    """Return what cron would give, what the parameters add and what the run is; never the worker's own."""
    params: CommandParams = context.params
    return {
        "HOME": account.home,
        "LOGNAME": account.name,
        "USER": account.name,
        "PATH": SEARCH_PATH,
        "SHELL": params.shell,
        "LANG": os.environ.get("LANG", "C.UTF-8"),
        **{name: value.get_secret_value() for name, value in params.env.items()},
        "TIDELINE_STAT_DATE": context.stat_date.isoformat(),
        "TIDELINE_PLANNED_AT": context.planned_at.astimezone(UTC).isoformat(),
        "TIDELINE_PROGRESS_FILE": str(progress.path),
        "TIDELINE_RUN_ID": str(context.run_id),
        "TIDELINE_ATTEMPT": str(context.attempt),
    }


def _why_not_started(error: NotStarted, params: CommandParams, account: Account) -> str:
    what = {
        "guard": "The command cannot be started",
        "account": f"The command cannot run as “{account.name}”",
        "folder": f"The working directory “{_folder(params, account)}” cannot be used",
        "program": f"The shell “{params.shell}” cannot be started",
    }
    return f"{what[error.step]}: {error.strerror}."

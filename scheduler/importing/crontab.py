"""Reads a crontab as cron reads it, and says of each line what it is. Pure: bytes in, lines out.

The traps are cron's own: an assignment counts for the lines below it; quotes keep blanks, and `$` is not expanded;
a `#` behind a command belongs to the command; the first bare `%` ends the command and begins its input.
"""

import re
from collections.abc import Iterator
from dataclasses import dataclass, field

from scheduler.cron import TriggerError, cron
from scheduler.cron.refusals import refusal

# Settings of cron itself, which are not the command's environment; LOGNAME cannot be set in a crontab.
CRON_SETTINGS = {"CRON_TZ", "MAILTO", "MAILFROM", "RANDOM_DELAY", "LOGNAME"}
LONGEST_TITLE = 80

_BLANKS = re.compile(r"[ \t]+")
_ASSIGNMENT = re.compile(r"""(?P<name>"[^"]*"|'[^']*'|[^\s=#"'@*][^\s=]*)\s*=\s*(?P<value>.*?)\s*""")
_QUOTED = re.compile(r"""(["'])(?P<inner>(?:(?!\1).)*)\1""")
_WITH_INPUT = re.compile(r"(?P<command>(?:\\.|[^\\%]|\\$)*)(?:%(?P<input>.*))?")
_USER_NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_.-]*\$?")
_RULE = re.compile(r"^[-=*]{2,}\s*|\s*[-=*]{2,}$")
_NAMED_BY_A_TOOL = re.compile(r"^(Ansible|Puppet Name|Chef Name):\s*")


@dataclass(frozen=True, slots=True)
class Entry:
    """A line that runs a command.

    Attributes:
        user: the user column of a system crontab; None in a user's crontab.
        environment: what the lines above set for the command, quotes taken off.
        zone: CRON_TZ; None if the machine's zone counts.
        stdin: the command's input; None if it has none.
        title: the comment right above, if it reads like a name.
        notes: what cron does with this line and Tideline does not.
    """

    line: int
    text: str
    expression: str
    command: str
    user: str | None = None
    environment: dict[str, str] = field(default_factory=dict)
    zone: str | None = None
    stdin: str | None = None
    title: str = ""
    notes: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Rejected:
    """A line that cannot become a schedule; `understood` if cron would run it all the same."""

    line: int
    text: str
    reason: str
    understood: bool


class _NotAnEntry(Exception):
    def __init__(self, reason: str, *, understood: bool = False) -> None:
        super().__init__(reason)
        self.reason = reason
        self.understood = understood


def parse(content: bytes, *, with_user: bool) -> Iterator[Entry | Rejected]:
    """Yield every line that runs something, or should.

    Args:
        with_user: whether a user name stands before the command, as in /etc/crontab and /etc/cron.d.
    """
    settings: dict[str, str] = {}
    comments: list[str] = []
    for number, raw in enumerate(content.removeprefix(b"\xef\xbb\xbf").split(b"\n"), start=1):
        if raw.lstrip().startswith(b"#"):
            comments.append(raw.decode(errors="replace").strip())
            continue
        line = _line(number, raw, settings, title=_title(comments), with_user=with_user) if raw.strip() else None
        if line is not None:
            yield line
        comments = []


def _assignment(text: str) -> tuple[str, str] | None:
    """Return the name and value of an environment line; None for any other line."""
    match = _ASSIGNMENT.fullmatch(text)
    if match is None:
        return None
    name, value = _unquoted(match["name"]), _unquoted(match["value"])
    return None if value.startswith(('"', "'")) and value == match["value"] else (name, value)


def _unquoted(text: str) -> str:
    match = _QUOTED.fullmatch(text)
    return match["inner"] if match else text


def _title(comments: list[str]) -> str:
    """Return the name that a single comment line gives; a longer block is prose, or cron's own heading."""
    text = comments[0].lstrip("# \t") if len(comments) == 1 else ""
    if _is_switched_off_entry(text):
        return ""
    text = _NAMED_BY_A_TOOL.sub("", _RULE.sub("", text)).rstrip(":")
    return text if re.search(r"\w", text) and len(text) <= LONGEST_TITLE else ""


def _is_switched_off_entry(text: str) -> bool:
    """Tell whether a comment is an entry that somebody took out, or cron's heading "m h dom mon dow command"."""
    times, rest = " ".join(text.split()[:5]), text.split()[5:]
    return bool(re.match(r"@|m\s+h\s", text)) or (bool(rest) and refusal(times) is None)


def _line(number: int, raw: bytes, settings: dict[str, str], *, title: str, with_user: bool) -> Entry | Rejected | None:
    """Read one line. An assignment goes into the settings, for the lines below it."""
    try:
        text = _decoded(raw)
        if assignment := _assignment(text):
            settings.update([assignment])
            return None
        return _entry(number, text, settings, title=title, with_user=with_user)
    except _NotAnEntry as error:
        return Rejected(number, raw.decode(errors="replace").strip(), error.reason, error.understood)
    except TriggerError as error:
        return Rejected(number, raw.decode().strip(), error.message, understood=False)


def _decoded(raw: bytes) -> str:
    try:
        text = raw.decode()
    except UnicodeDecodeError as error:
        raise _NotAnEntry("The line is not UTF-8 text: save the file as UTF-8.") from error
    if "\0" in text:
        raise _NotAnEntry("The line holds a NUL character.")
    return text.lstrip(" \t").rstrip("\r")


def _entry(number: int, text: str, settings: dict[str, str], *, title: str, with_user: bool) -> Entry:
    expression, rest = _times(text.removeprefix("-"))
    user, rest = _user(rest) if with_user else (None, rest)
    command, stdin = _command(rest)
    zone = settings.get("CRON_TZ") or None
    return Entry(
        line=number,
        text=text,
        expression=cron(expression, zone or "UTC").expression,
        command=command,
        user=user,
        environment={name: value for name, value in settings.items() if name not in CRON_SETTINGS},
        zone=zone,
        stdin=stdin,
        title=title,
        notes=tuple(_notes(settings, text, command, with_user=with_user)),
    )


def _times(text: str) -> tuple[str, str]:
    """Return the expression, or the word that stands for one, and what follows it."""
    count = 1 if text.startswith("@") else 5
    parts = _BLANKS.split(text, maxsplit=count)
    if parts[0].lower() == "@reboot":
        raise _NotAnEntry(
            "@reboot runs when the machine starts, and a schedule runs at a time: leave this line in cron.",
            understood=True,
        )
    if any("~" in part for part in parts[:count]):
        raise _NotAnEntry("~ lets cron choose a random time: write one fixed time here.", understood=True)
    if len(parts) <= count or not parts[count]:
        if "=" in text:
            raise _NotAnEntry("This is neither an assignment (check its quotes) nor a line that runs a command.")
        raise _NotAnEntry("The line ends before its command: five times, then the command.")
    return " ".join(parts[:count]), parts[count]


def _user(rest: str) -> tuple[str, str]:
    name, *command = _BLANKS.split(rest, maxsplit=1)
    if not _USER_NAME.fullmatch(name):
        raise _NotAnEntry(f"“{name}” is not a user name: if this is a user's own crontab, say --user.")
    if not "".join(command):
        raise _NotAnEntry(f"The line ends after the user “{name}”, before its command.")
    return name, command[0]


def _command(text: str) -> tuple[str, str | None]:
    """Return the command and its input: the first bare % ends the one, each further one is a new line."""
    match = _WITH_INPUT.fullmatch(text)
    assert match is not None  # noqa: S101 -- the pattern takes every text
    command = match["command"].replace(r"\%", "%")
    if not command.strip():
        raise _NotAnEntry("The line has no command before its %.")
    if match["input"] is None:
        return command, None
    stdin = re.sub(r"\\%|%", lambda found: "\n" if found[0] == "%" else "%", match["input"])
    return command, stdin if stdin.endswith("\n") or not stdin else stdin + "\n"


def _notes(settings: dict[str, str], text: str, command: str, *, with_user: bool) -> Iterator[str]:
    if settings.get("MAILTO"):
        yield f"Nothing is mailed to {settings['MAILTO']}: the output is kept with each run."
    if settings.get("RANDOM_DELAY"):
        yield f"RANDOM_DELAY={settings['RANDOM_DELAY']} is not taken over: it runs on time."
    if "TZ" in settings and not settings.get("CRON_TZ"):
        yield f"TZ={settings['TZ']} sets the clock of the command only, as in cron; CRON_TZ would set the schedule's."
    if text.startswith("-"):
        yield "The leading “-” (no entry in the system log) has no meaning here."
    if not with_user and command.split(maxsplit=1)[0] == "root":
        yield "The command begins with “root”: if this is a system crontab, say --system."

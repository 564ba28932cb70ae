"""Turns the lines of a crontab into schedules: what would become of each, and then the rows.

`Schedule.origin` names the source and a digest of what the line does, so that the same import twice changes nothing.
"""

import hashlib
import json
from collections import Counter
from collections.abc import Iterable, Iterator
from datetime import datetime
from typing import Any

from scheduler.cron import Cron
from scheduler.importing.crontab import Entry, Rejected, parse
from scheduler.importing.items import Item, Outcome, as_new, as_present, gone, imported_before
from scheduler.importing.sources import Machine, Source
from scheduler.models import Schedule

# Where cron looks for programs unless the crontab says otherwise (crontab(5)); the job `command` looks further.
CRON_PATH = "/usr/bin:/bin"
LONGEST_COMMAND = 60


def import_lines(
    sources: Iterable[Source], machine: Machine, *, now: datetime, apply: bool
) -> Iterator[tuple[Source, list[Item]]]:
    """Yield each source with what becomes of its lines; without `apply`, with what would, and nothing is written."""
    known = imported_before("crontab:")
    taken: set[str] = set()
    for source in sources:
        items = list(_items(source, machine))
        still_there = {item.origin for item in items}
        absent = [row for origin, row in known.items() if _came_from(source, origin) and origin not in still_there]
        yield source, [*(_brought(item, known, taken, now, apply) for item in items), *gone(absent)]


def _brought(item: Item, known: dict[str, Schedule], taken: set[str], now: datetime, apply: bool) -> Item:
    if item.outcome is not Outcome.NEW:
        return item
    present = known.get(item.origin)
    return as_present(item, present) if present else as_new(item, taken, now=now, keep=apply)


def _items(source: Source, machine: Machine) -> Iterator[Item]:
    """Yield each line as a schedule to be, or why it becomes none."""
    seen: Counter[str] = Counter()
    for line in parse(source.content, with_user=source.with_user):
        if isinstance(line, Rejected):
            outcome = Outcome.LEFT if line.understood else Outcome.UNREADABLE
            yield Item(line.line, line.text, outcome, line.reason)
            continue
        digest = _digest(line)
        seen[digest] += 1
        yield _item(line, _origin(source, digest, seen[digest]), source, machine)


def _item(entry: Entry, origin: str, source: Source, machine: Machine) -> Item:
    """Return the entry as a schedule to be, or why this machine's runner cannot run it."""
    user = entry.user or source.owner or machine.user
    if reason := _why_not_as(user, machine):
        return Item(entry.line, entry.text, Outcome.LEFT, reason, entry.notes)
    return Item(
        number=entry.line,
        text=entry.text,
        outcome=Outcome.NEW,
        notes=entry.notes,
        name=entry.title or _short(entry.command),
        origin=origin,
        job="command",
        trigger=Cron(entry.expression, entry.zone or machine.zone),
        params=_params(entry) | ({} if user == machine.user else {"user": user}),
        options={"description": f"Imported from {source.name}, line {entry.line}: {entry.text}"},
    )


def _why_not_as(user: str, machine: Machine) -> str:
    if user == machine.user:
        return ""
    if not machine.has_user(user):
        return f"There is no user “{user}” on this machine."
    if machine.is_root:
        return ""
    return (
        f"It runs as “{user}”, and a runner of “{machine.user}” cannot. Run the import and the runner as root, or "
        "move the line into your own crontab."
    )


def _params(entry: Entry) -> dict[str, Any]:
    """Return the parameters of the job `command`: the command in the surroundings that cron would give it."""
    env = {"PATH": CRON_PATH} | entry.environment
    params = {
        "command": entry.command,
        "env": env,
        "shell": env.get("SHELL"),
        "cwd": env.get("HOME"),
        "stdin": entry.stdin,
    }
    return {name: value for name, value in params.items() if value is not None}


def _origin(source: Source, digest: str, copy: int) -> str:
    """Return what a line is remembered by; a line that stands there twice runs twice, in cron as here."""
    return f"{_prefix(source)}:{digest}" + (f"-{copy}" if copy > 1 else "")


def _came_from(source: Source, origin: str) -> bool:
    return origin.rpartition(":")[0] == _prefix(source)


def _prefix(source: Source) -> str:
    return f"crontab:{source.key[-200:]}"


def _digest(entry: Entry) -> str:
    """Return a digest of what the line does; its number, its comment and the mail settings do not count."""
    does = [entry.expression, entry.zone, entry.user, entry.command, entry.stdin, sorted(entry.environment.items())]
    return hashlib.sha256(json.dumps(does).encode()).hexdigest()[:40]


def _short(command: str) -> str:
    text = " ".join(command.split())
    return text if len(text) <= LONGEST_COMMAND else f"{text[: LONGEST_COMMAND - 1]}…"

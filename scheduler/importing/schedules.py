"""Turns the lines of a crontab into schedules: what would become of each, and then the rows.

`Schedule.origin` names the source and a digest of what the line does, so that the same import twice changes nothing.
"""

import hashlib
import json
from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from datetime import datetime
from enum import StrEnum
from typing import Any

from django.core.exceptions import ValidationError

from scheduler import schedules
from scheduler.cron import Cron
from scheduler.importing.crontab import Entry, Rejected, parse
from scheduler.importing.sources import Machine, Source
from scheduler.models import Schedule

# Where cron looks for programs unless the crontab says otherwise (crontab(5)); the job `command` looks further.
CRON_PATH = "/usr/bin:/bin"
LONGEST_NAME = 60
NEEDED = ("name", "origin", "next_run_at", "enabled")


class Outcome(StrEnum):
    """What becomes of a line."""

    NEW = "to import"
    IMPORTED = "imported"
    PRESENT = "already imported"
    LEFT = "not imported"
    UNREADABLE = "cannot be read"
    REFUSED = "refused"
    GONE = "no longer in the crontab"


@dataclass(frozen=True, slots=True)
class Item:
    """One line and what becomes of it.

    Attributes:
        line: its number; None for a schedule whose line is gone.
        name: of the schedule.
        reason: why it is not imported, or what to do about it.
    """

    line: int | None
    text: str
    outcome: Outcome
    reason: str = ""
    notes: tuple[str, ...] = ()
    name: str = ""
    origin: str = ""
    trigger: Cron | None = None
    params: dict[str, Any] | None = None
    next_run_at: datetime | None = None


def plan(sources: Iterable[Source], machine: Machine, *, now: datetime) -> Iterator[tuple[Source, list[Item]]]:
    """Yield each source with what would become of its lines; nothing is written."""
    known = {row.origin: row for row in Schedule.objects.filter(origin__startswith="crontab:").only(*NEEDED)}
    taken: set[str] = set()
    for source in sources:
        items = list(_items(source, machine, known, taken, now))
        yield source, [*items, *_gone(source, items, known)]


def carry_out(source: Source, items: Iterable[Item], *, now: datetime) -> Iterator[Item]:
    """Create the schedules that are to be imported, each by itself; a refused one says why."""
    for item in items:
        yield _create(source, item, now) if item.outcome is Outcome.NEW else item


def _items(
    source: Source, machine: Machine, known: dict[str | None, Schedule], taken: set[str], now: datetime
) -> Iterator[Item]:
    seen: Counter[str] = Counter()
    for line in parse(source.content, with_user=source.with_user):
        if isinstance(line, Rejected):
            outcome = Outcome.LEFT if line.understood else Outcome.UNREADABLE
            yield Item(line.line, line.text, outcome, line.reason)
            continue
        digest = _digest(line)
        seen[digest] += 1
        item = _item(line, _origin(source, digest, seen[digest]), source.owner, machine)
        if item.outcome is Outcome.NEW:
            item = _compared(item, known.get(item.origin), taken, now)
        yield item


def _item(entry: Entry, origin: str, owner: str | None, machine: Machine) -> Item:
    """Return the entry as a schedule to be, or why this machine's runner cannot run it."""
    user = entry.user or owner or machine.user
    if reason := _why_not_as(user, machine):
        return Item(entry.line, entry.text, Outcome.LEFT, reason, entry.notes)
    params = _params(entry) | ({} if user == machine.user else {"user": user})
    trigger = Cron(entry.expression, entry.zone or machine.zone)
    name = entry.title or _short(entry.command)
    return Item(entry.line, entry.text, Outcome.NEW, "", entry.notes, name, origin, trigger, params)


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


def _compared(item: Item, present: Schedule | None, taken: set[str], now: datetime) -> Item:
    """Return the item with the row that it became before, or with a free name and its first fire."""
    if present is not None:
        reason = "" if present.enabled else "It is paused here."
        next_run_at = present.next_run_at if present.enabled else None
        return replace(item, outcome=Outcome.PRESENT, name=present.name, reason=reason, next_run_at=next_run_at)
    name = _free(item.name, taken)
    taken.add(name)
    return replace(item, name=name, next_run_at=item.trigger.next_after(now) if item.trigger else None)


def _gone(source: Source, items: list[Item], known: dict[str | None, Schedule]) -> Iterator[Item]:
    """Yield the enabled schedules that came from this source and whose line is not there any more."""
    still_there = {item.origin for item in items}
    reason = "It runs on here: right if you moved it, else pause it in the admin."
    for origin, row in known.items():
        if origin and _came_from(source, origin) and origin not in still_there and row.enabled:
            yield Item(None, "", Outcome.GONE, reason, name=row.name, origin=origin, next_run_at=row.next_run_at)


def _create(source: Source, item: Item, now: datetime) -> Item:
    assert item.trigger is not None  # noqa: S101 -- what is to be imported has one
    try:
        schedule = schedules.create(
            name=item.name,
            job="command",
            params=item.params,
            trigger=item.trigger,
            now=now,
            origin=item.origin,
            description=f"Imported from {source.name}, line {item.line}: {item.text}",
        )
    except ValidationError as error:
        return replace(item, outcome=Outcome.REFUSED, reason=" ".join(error.messages))
    return replace(item, outcome=Outcome.IMPORTED, next_run_at=schedule.next_run_at)


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
    return text if len(text) <= LONGEST_NAME else f"{text[: LONGEST_NAME - 1]}…"


def _free(wanted: str, taken: set[str]) -> str:
    """Return the name, numbered if another schedule has it."""
    name, number = wanted, 1
    while name in taken or Schedule.objects.filter(name=name).exists():
        number += 1
        name = f"{wanted} ({number})"
    return name

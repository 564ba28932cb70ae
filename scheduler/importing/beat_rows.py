"""Brings the rows of django-celery-beat over: reads them, makes them schedules, and takes them from beat.

`Schedule.origin` names the database, the row and a digest of what the row does: the same import twice changes nothing,
and a row that was changed in beat meanwhile is told.
"""

import hashlib
import json
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any

import dj_database_url
from django.core.exceptions import ValidationError
from django.db import DEFAULT_DB_ALIAS, connections, transaction
from django_celery_beat.models import PeriodicTask, PeriodicTasks

from scheduler.importing.celery_beat import NotImported, Surroundings, schedule_of, text_of
from scheduler.importing.items import Item, Outcome, as_new, as_present, gone, imported_before
from scheduler.models import Schedule

_ALIAS = "celery-beat"
_CHANGED = "Change the schedule here too, or delete it and import the row again."
_TAKEN_OVER = "It is disabled in beat now."
# What a row does, beside when; its name, its description and what beat counts do not matter.
_DOES = (
    "task", "args", "kwargs", "queue", "exchange", "routing_key", "headers", "priority", "expires", "expire_seconds",
    "one_off", "start_time",
)  # fmt: skip


class NoDatabase(Exception):
    """There is no database at that URL; the message says why."""


@dataclass(frozen=True, slots=True)
class Beat:
    """The database that a beat reads.

    Attributes:
        alias: by which Django knows it.
        key: by which its rows are remembered.
    """

    alias: str = DEFAULT_DB_ALIAS
    key: str = "here"


@contextmanager
def beat_at(url: str | None) -> Iterator[Beat]:
    """Yield the beat whose rows are in the database at the URL, connected meanwhile; in Tideline's own without one.

    Raises:
        NoDatabase: the URL cannot be used; nothing of it is in the message.
    """
    settings = _settings(url) if url else connections[DEFAULT_DB_ALIAS].settings_dict
    if _key(settings) == _key(connections[DEFAULT_DB_ALIAS].settings_dict):
        yield Beat()
        return
    completed = connections.configure_settings({DEFAULT_DB_ALIAS: {}, _ALIAS: settings})
    connections.settings[_ALIAS] = completed[_ALIAS]
    try:
        yield Beat(_ALIAS, _key(settings))
    finally:
        _forget()


def plan(beat: Beat, here: Surroundings, *, now: datetime) -> list[Item]:
    """Return what would become of each row, and which schedules' rows are gone; nothing is written."""
    return _items(beat, here, now, keep=False, lock=False)


def import_rows(beat: Beat, here: Surroundings, *, now: datetime, take_over: bool) -> list[Item]:
    """Make schedules of the rows, all in one transaction, and return what became of each.

    Args:
        take_over: disable in beat what fires here then, so that not both run it. In another database, that is
            committed last: were it to fail there, both would run it until the next import, and neither would be lost.
    """
    with transaction.atomic(using=beat.alias), transaction.atomic():
        items = _items(beat, here, now, keep=True, lock=take_over)
        return _taken_over(beat, items, now) if take_over else items


# --- reading -----------------------------------------------------------------------------------------------------


def _items(beat: Beat, here: Surroundings, now: datetime, *, keep: bool, lock: bool) -> list[Item]:
    known = {origin.rpartition(":")[0]: row for origin, row in imported_before(f"celery-beat:{beat.key}:").items()}
    rows = {f"celery-beat:{beat.key}:{row.pk}": row for row in _rows(beat, lock)}
    taken: set[str] = set()

    def brought(prefix: str, row: PeriodicTask) -> Item:
        item = _item(row, prefix, here, known.get(prefix), now)
        return as_new(item, taken, now=now, keep=keep) if item.outcome is Outcome.NEW else item

    absent = [schedule for prefix, schedule in known.items() if prefix not in rows]
    return [*(brought(prefix, row) for prefix, row in rows.items()), *gone(absent)]


def _rows(beat: Beat, lock: bool) -> Iterable[PeriodicTask]:
    rows = PeriodicTask.objects.using(beat.alias).order_by("pk")
    if lock:
        rows = rows.select_for_update(of=("self",))
    # Not the crontabs: a zone in one of them that this machine does not know would fail them all.
    yield from rows.select_related("interval", "solar", "clocked")


def _item(row: PeriodicTask, prefix: str, here: Surroundings, present: Schedule | None, now: datetime) -> Item:
    """Return the row as a schedule to be, as the one that it became before, or why it becomes none."""
    try:
        item = Item(row.pk, text_of(row), Outcome.LEFT, origin=f"{prefix}:{_digest(row)}", runs_there=row.enabled)
    except ValidationError as error:
        reason = f"Its crontab cannot be read: {' '.join(error.messages)}."
        return Item(row.pk, f"{row.name}, {row.task}", Outcome.UNREADABLE, reason)
    if present is not None:
        return _compared(item, present)
    try:
        return schedule_of(row, here, origin=item.origin, now=now)
    except NotImported as refusal:
        return replace(item, outcome=refusal.outcome, reason=refusal.reason)


def _compared(item: Item, present: Schedule) -> Item:
    """Return the item as the schedule that it became before, and whether the row is as it was then."""
    found = as_present(item, present)
    if present.origin == item.origin:
        return found
    both = " Both run it." if found.enabled and found.runs_there else ""
    return replace(found, outcome=Outcome.CHANGED, reason=f"{_CHANGED}{both} {found.reason}".rstrip())


def _digest(row: PeriodicTask) -> str:
    """Return a digest of what the row does and when."""
    when = row.scheduler
    fields = [] if when is None else [f.value_from_object(when) for f in when._meta.fields if not f.primary_key]
    does = [getattr(row, name) or None for name in _DOES]
    return hashlib.sha256(json.dumps([does, fields], default=str).encode()).hexdigest()[:40]


# --- taking over -------------------------------------------------------------------------------------------------


def _taken_over(beat: Beat, items: list[Item], now: datetime) -> list[Item]:
    """Disable in beat what fires here, and say so of each."""
    both = {item.number for item in items if runs_twice(item)}
    if both:
        # As PeriodicTask.save does: enabled again, the row would count from its last change.
        disabled = {"enabled": False, "last_run_at": None, "date_changed": now}
        PeriodicTask.objects.using(beat.alias).filter(pk__in=both).update(**disabled)
        _tell_beat(beat, now)
    return [_disabled_there(item) if item.number in both else item for item in items]


def runs_twice(item: Item) -> bool:
    """Tell whether the schedule fires here, or will, while beat runs the row."""
    return item.outcome in (Outcome.NEW, Outcome.IMPORTED, Outcome.PRESENT) and item.enabled and item.runs_there


def _disabled_there(item: Item) -> Item:
    return replace(item, runs_there=False, reason=f"{item.reason} {_TAKEN_OVER}".lstrip())


def _tell_beat(beat: Beat, now: datetime) -> None:
    """Have beat read its rows again, as PeriodicTasks.update_changed does, but in its own database.

    Beat looks for a later stamp than the last, so it must be later even where clocks disagree.
    """
    stamps = PeriodicTasks.objects.using(beat.alias)
    last = stamps.select_for_update().filter(ident=1).first()
    stamp = max(now, last.last_update + timedelta.resolution) if last else now
    stamps.update_or_create(ident=1, defaults={"last_update": stamp})


# --- the database ------------------------------------------------------------------------------------------------


def _settings(url: str) -> dict[str, Any]:
    try:
        settings: dict[str, Any] = {"OPTIONS": {}, **dj_database_url.parse(url)}
    except ValueError as error:
        raise NoDatabase("This is no URL of a database: say postgresql://user@host:5432/name.") from error
    if settings["ENGINE"].endswith("postgresql"):
        settings["OPTIONS"].setdefault("connect_timeout", 5)
    elif settings["ENGINE"].endswith("sqlite3") and not Path(settings["NAME"]).is_file():
        raise NoDatabase("There is no such file.")  # SQLite would make one
    return settings


def _key(settings: dict[str, Any]) -> str:
    """Return what tells the database from others, and says no secret."""
    host = settings["HOST"] or settings.get("OPTIONS", {}).get("host", "")
    return f"{host}:{settings['PORT'] or 5432}/{settings['NAME']}"[-200:]


def _forget() -> None:
    for connection in connections.all(initialized_only=True):
        if connection.alias == _ALIAS:
            connection.close()
            del connections[_ALIAS]
    del connections.settings[_ALIAS]

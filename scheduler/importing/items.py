"""What all imports share: the entries of a source, what becomes of each, and the schedules that they turn into.

`Schedule.origin` says which entry a schedule came from, so that the same import twice changes nothing.
"""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field, replace
from datetime import datetime
from enum import StrEnum
from typing import Any

from django.core.exceptions import ValidationError
from django.db import DataError, IntegrityError, transaction

from scheduler import schedules
from scheduler.cron import Trigger
from scheduler.models import Schedule

LONGEST_NAME = 200
_NEEDED = ("name", "origin", "next_run_at", "enabled", "broken_reason", "timezone")


class Outcome(StrEnum):
    """What becomes of an entry."""

    NEW = "to import"
    IMPORTED = "imported"
    PRESENT = "already imported"
    CHANGED = "changed since its import"
    LEFT = "not imported"
    UNREADABLE = "cannot be read"
    REFUSED = "refused"
    GONE = "no longer there"


@dataclass(frozen=True, slots=True)
class Item:
    """One entry of a source and what becomes of it.

    Attributes:
        number: of the line or row; None for a schedule whose entry is gone.
        text: the entry as a person knows it.
        reason: why it is not imported, or what to do about it.
        notes: what it says there and does not do here.
        name: of the schedule.
        options: further fields of the schedule.
        runs_there: whether what it comes from is known to run it still.
    """

    number: int | None
    text: str
    outcome: Outcome
    reason: str = ""
    notes: tuple[str, ...] = ()
    name: str = ""
    origin: str = ""
    job: str = ""
    trigger: Trigger | None = None
    params: dict[str, Any] = field(default_factory=dict)
    options: dict[str, Any] = field(default_factory=dict)
    next_run_at: datetime | None = None
    runs_there: bool = False

    @property
    def enabled(self) -> bool:
        """Whether the schedule fires."""
        return bool(self.options.get("enabled", True))


def imported_before(prefix: str) -> dict[str, Schedule]:
    """Return the schedules whose origin begins so, by their origin."""
    rows = Schedule.objects.filter(origin__startswith=prefix).only(*_NEEDED)
    return {row.origin: row for row in rows if row.origin is not None}


def as_present(item: Item, schedule: Schedule) -> Item:
    """Return the item as the schedule that it became before."""
    silence = _why_silent(schedule)
    return replace(
        item,
        outcome=Outcome.PRESENT,
        name=schedule.name,
        reason=silence,
        options={"enabled": not silence, "timezone": schedule.timezone},
        next_run_at=schedule.next_run_at if schedule.enabled else None,
    )


def _why_silent(schedule: Schedule) -> str:
    if not schedule.enabled:
        return "It is paused here."
    return "It is unscheduled here: its trigger cannot be read." if schedule.broken_reason else ""


def as_new(item: Item, taken: set[str], *, now: datetime, keep: bool) -> Item:
    """Create the item's schedule under a free name, by itself; a refused one says why.

    Args:
        taken: names that this import has given; this one's is added.
        keep: whether the schedule stays. Otherwise it is taken back, and the item says what would become of it.
    """
    name = _free(item.name, taken)
    try:
        with transaction.atomic():
            schedule = _create(item, name, now)
            if not keep:
                transaction.set_rollback(True)
    except ValidationError as error:
        return replace(item, outcome=Outcome.REFUSED, reason=" ".join(error.messages))
    except (DataError, IntegrityError) as error:  # a NUL character in the parameters; another import that was first
        reason = f"The database cannot keep it: {str(error).splitlines()[0]}."
        return replace(item, outcome=Outcome.REFUSED, reason=reason)
    taken.add(name)
    outcome = Outcome.IMPORTED if keep else Outcome.NEW
    return replace(item, outcome=outcome, name=name, next_run_at=schedule.next_run_at if schedule.enabled else None)


def _create(item: Item, name: str, now: datetime) -> Schedule:
    assert item.trigger is not None  # noqa: S101 -- what is to be imported has one
    return schedules.create(
        name=name,
        job=item.job,
        params=item.params,
        trigger=item.trigger,
        now=now,
        origin=item.origin,
        **item.options,
    )


def _free(wanted: str, taken: set[str]) -> str:
    """Return the name, numbered if another schedule has it."""
    name, number = wanted, 1
    while name in taken or Schedule.objects.filter(name=name).exists():
        number += 1
        suffix = f" ({number})"
        name = wanted[: LONGEST_NAME - len(suffix)] + suffix
    return name


def gone(schedules: Iterable[Schedule]) -> Iterator[Item]:
    """Yield those that are enabled, of schedules whose entries are not there any more."""
    for row in schedules:
        if row.enabled:
            yield Item(
                number=None,
                text="",
                outcome=Outcome.GONE,
                reason="It runs on here: right if you moved it, else pause it in the admin.",
                name=row.name,
                origin=row.origin or "",
                options={"timezone": row.timezone},
                next_run_at=row.next_run_at,
            )

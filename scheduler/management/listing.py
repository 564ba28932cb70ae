"""How the import commands tell what becomes of each entry: as lines for people, as values for programs."""

from collections import Counter
from collections.abc import Iterable, Iterator
from typing import Any
from zoneinfo import ZoneInfo

from django.core.management.base import CommandError

from project.kit.sentences import counted
from scheduler.admin.secret_params import masked
from scheduler.cron import Cron, Interval, Once, Trigger
from scheduler.importing.items import Item, Outcome

DRY_RUN = "This was a dry run: nothing is written. Add --apply to import."
_WITH_A_SCHEDULE = (Outcome.NEW, Outcome.IMPORTED, Outcome.PRESENT, Outcome.CHANGED)


def item_lines(item: Item, place: str) -> Iterator[str]:
    """Yield the entry, behind its place in the source, and below it what becomes of it."""
    if item.number is not None:
        yield f"  {place}: {item.text}"
    name = f" as “{item.name}”" if item.outcome in _WITH_A_SCHEDULE else ""
    subject = f"“{item.name}” is " if item.outcome is Outcome.GONE else ""
    said = [f"{subject}{item.outcome}{name}", *_when(item)]
    yield f"    → {', '.join(said)}. {item.reason}".rstrip()


def _when(item: Item) -> Iterator[str]:
    if item.next_run_at is not None:
        place = ZoneInfo(zone_of(item))
        yield f"next {item.next_run_at.astimezone(place):%a %Y-%m-%d %H:%M} {place.key}"
    elif not item.enabled and item.outcome is not Outcome.PRESENT:
        yield "paused"


def zone_of(item: Item) -> str:
    """Return the zone by which the item is shown: its schedule's."""
    return item.trigger.zone if isinstance(item.trigger, Cron) else str(item.options.get("timezone", "UTC"))


def size(items: Iterable[Item], noun: str) -> str:
    """Return how many entries there are, as in "2 lines"; nothing for none."""
    count = sum(item.number is not None for item in items)
    return counted(count, noun) if count else ""


def counts(items: Iterable[Item]) -> Counter[Outcome]:
    """Return how often each outcome occurs."""
    return Counter(item.outcome for item in items)


def summary(outcomes: Counter[Outcome]) -> str:
    """Return the counts in words."""
    told = [f"{outcomes[outcome]} {outcome}" for outcome in Outcome if outcomes[outcome]]
    return ", ".join(told) or "Nothing to import"


def fail_if_incomplete(outcomes: Counter[Outcome], noun: str, missing: Iterable[str] = ()) -> None:
    """End the command as failed if something could not be read or was refused.

    Raises:
        CommandError: naming how many, and the sources that are missing.
    """
    failed = outcomes[Outcome.UNREADABLE] + outcomes[Outcome.REFUSED]
    faults = [counted(failed, noun)] if failed else []
    faults += missing
    if faults:
        raise CommandError(f"{' and '.join(faults)} could not be imported: see above for the reasons.")


def counts_as_json(outcomes: Counter[Outcome]) -> dict[str, int]:
    """Return the counts as JSON has them."""
    return {outcome.value: count for outcome, count in outcomes.items()}


def item_as_json(item: Item) -> dict[str, Any]:
    """Return the item as JSON has it; secrets in the parameters are masked."""
    return {
        "text": item.text,
        "outcome": item.outcome.value,
        "reason": item.reason,
        "notes": item.notes,
        "schedule": item.name or None,
        **_trigger_as_json(item.trigger),
        "timezone": zone_of(item) if item.trigger else None,
        "params": masked(item.job, item.params) if item.trigger else None,
        "next_run_at": item.next_run_at.isoformat() if item.next_run_at else None,
    }


def _trigger_as_json(trigger: Trigger | None) -> dict[str, Any]:
    match trigger:
        case Interval(seconds=seconds, anchor=anchor):
            return {"interval_seconds": seconds, "anchor_at": anchor.isoformat()}
        case Once(at=at):
            return {"once_at": at.isoformat()}
        case Cron(expression=expression):
            return {"cron": expression}
    return {"cron": None}

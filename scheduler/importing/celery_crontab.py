"""Writes a crontab of Celery as a cron expression that matches the same minutes of the same days.

Celery reads each field by a grammar of its own: ranges go over the end (`22-4`, `fri-mon`), steps count along them,
names may be written out. So its own reading, a set of numbers, decides; the text is kept where cron reads the same
from it. The traps:

- Celery runs on days that match day-of-month *and* day-of-week, cron on days that match either, unless one of the two
  fields begins with `*`.
- Celery knows no weekday 7, so beat never runs such a row.
"""

from collections.abc import Iterable
from dataclasses import dataclass
from itertools import groupby

from cronsim import CronSimError
from cronsim.cronsim import DAYS_IN_MONTH, SYMBOLIC_DAYS, Field

_WHOLE = {
    Field.MINUTE: frozenset(range(60)),
    Field.HOUR: frozenset(range(24)),
    Field.DAY: frozenset(range(1, 32)),
    Field.MONTH: frozenset(range(1, 13)),
    Field.DOW: frozenset(range(7)),
}
# The n-th Monday of a month is the Monday among the days of its n-th week.
_WEEKS = {number: frozenset(range(7 * number - 6, 7 * number + 1)) for number in range(1, 6)}


class NoExpression(ValueError):
    """No cron expression matches the same days; the message is a sentence for a person."""


@dataclass(frozen=True, slots=True)
class CeleryField:
    """A field of a crontab: as it is written, and the numbers that Celery reads from it."""

    text: str
    values: frozenset[int]


def expression(
    minute: CeleryField, hour: CeleryField, day: CeleryField, month: CeleryField, weekday: CeleryField
) -> str:
    """Return the cron expression that means the same.

    Raises:
        NoExpression: both day fields are restricted, and no expression says so.
    """
    days, weekdays = _days(day, weekday, month)
    times = _written(Field.MINUTE, minute), _written(Field.HOUR, hour)
    return " ".join([*times, days, _written(Field.MONTH, month), weekdays])


def _days(day: CeleryField, weekday: CeleryField, month: CeleryField) -> tuple[str, str]:
    """Return the two day fields such that a day matches as if it had to match both."""
    there_are = frozenset(range(1, max(DAYS_IN_MONTH[number] for number in month.values) + 1))
    written, written_weekday = _written(Field.DAY, day), _written(Field.DOW, weekday)
    if written.startswith("*") or written_weekday.startswith("*"):
        return written, written_weekday
    if there_are <= day.values:
        return "*", written_weekday
    if weeks := _weeks(day.values & there_are, there_are):
        return "*", ",".join(f"{SYMBOLIC_DAYS[number]}#{week}" for number in sorted(weekday.values) for week in weeks)
    raise NoExpression(
        f"Celery runs it only on days that match both its day-of-month ({day.text}) and its day-of-week "
        f"({weekday.text}); cron runs on days that match either, and no expression means the same. Leave it in beat, "
        "or let the task itself look at the day."
    )


def _weeks(days: frozenset[int], there_are: frozenset[int]) -> list[int]:
    """Return the weeks of the month that make up these days; nothing if there is a part of one among them."""
    weeks = [number for number, week in _WEEKS.items() if days & week]
    whole = frozenset().union(*(_WEEKS[number] for number in weeks)) & there_are
    return weeks if whole == days else []


def _written(field: Field, celery: CeleryField) -> str:
    """Return the field's text if cron reads the same from it, or else its numbers."""
    if celery.values == _WHOLE[field]:
        return "*"
    text = "".join(celery.text.split())
    return text if _read(field, text) == celery.values else ",".join(_ranges(celery.values))


def _read(field: Field, text: str) -> frozenset[object] | None:
    """Return what cron reads from the field; None if it cannot be read."""
    try:
        values = field.parse(text.upper())
    except (CronSimError, ValueError):  # ValueError: more digits than int() takes
        return None
    return frozenset(0 if field is Field.DOW and value == 7 else value for value in values)


def _ranges(values: Iterable[int]) -> list[str]:
    runs = groupby(enumerate(sorted(values)), key=lambda place: place[1] - place[0])
    spans = [[value for _, value in run] for _, run in runs]
    return [str(span[0]) if len(span) == 1 else f"{span[0]}-{span[-1]}" for span in spans]

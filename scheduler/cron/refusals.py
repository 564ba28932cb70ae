"""Why a cron expression is refused: a sentence with the field, its fault and, if that helps, the remedy."""

import re
from dataclasses import dataclass

from cronsim import CronSimError
from cronsim.cronsim import Field

FORM = "minute hour day-of-month month day-of-week"
EXAMPLE = "30 2 * * *"


@dataclass(frozen=True, slots=True)
class _Part:
    name: str
    low: int
    high: int
    names: str
    reader: Field


_PARTS = (
    _Part("minute", 0, 59, "", Field.MINUTE),
    _Part("hour", 0, 23, "", Field.HOUR),
    _Part("day-of-month", 1, 31, ", L for the last day, LW for the last weekday", Field.DAY),
    _Part("month", 1, 12, ", JAN to DEC", Field.MONTH),
    _Part("day-of-week", 0, 7, ", SUN to SAT, 5L for the last Friday, MON#2 for the second Monday", Field.DOW),
)
# What is written by habit from other schedulers, or by slip: pattern of the term, predicate of the sentence.
_FAULTS = (
    (r"^$", "has an empty place beside a comma"),
    (r"\?", "uses ?, which is not known here: write * for every value"),
    (r"~", "asks for a random time (~): write one fixed time"),
    (r"/0+$", "has a step of 0: write at least 1"),
)


def refusal(text: str) -> str | None:
    """Return what is wrong with five cron fields (or that they are not five); None if each can be read."""
    fields = text.split()
    if len(fields) != len(_PARTS):
        return _wrong_count(fields)
    for part, field in zip(_PARTS, fields, strict=True):
        for term in field.split(","):
            if not _is_readable(part, term):
                where = f"“{field}”" if term in ("", field) else f"“{field}”: “{term}”"
                return f"The cron expression's {part.name} field {where} {_fault(part, term)}."
    return None


def _wrong_count(fields: list[str]) -> str:
    text = " ".join(fields)
    if not fields:
        return f"The cron expression is empty. Write five fields: {FORM}, as in “{EXAMPLE}”."
    if any(field.startswith(",") or field.endswith(",") for field in fields):
        return f"The cron expression “{text}” has a space beside a comma. Write lists without one, as in 1,15."
    if len(fields) == len(_PARTS) + 1:
        return (
            f"The cron expression “{text}” has six fields, but seconds are not supported. "
            f"Write five: {FORM}, as in “{_without_seconds(fields)}”."
        )
    count = "1 field" if len(fields) == 1 else f"{len(fields)} fields"
    return f"The cron expression “{text}” has {count} instead of five: {FORM}, as in “{EXAMPLE}”."


def _without_seconds(fields: list[str]) -> str:
    rest = " ".join(fields[1:])
    return EXAMPLE if refusal(rest) else rest


def _is_readable(part: _Part, term: str) -> bool:
    try:
        part.reader.parse(term.upper())
    except (CronSimError, ValueError):  # ValueError: more digits than int() takes
        return False
    return True


def _fault(part: _Part, term: str) -> str:
    """Return the predicate of the sentence: the term "is …", "has …", "uses …"."""
    for pattern, fault in _FAULTS:
        if re.search(pattern, term):
            return fault
    if backwards := _backwards(part, term):
        return f"runs backwards: write {backwards}"
    if re.fullmatch(r"[\d/-]*\d", term, re.ASCII):
        return f"is not between {part.low} and {part.high}"
    return f"cannot be read: write *, {part.low} to {part.high}{part.names}, a range (1-5) or a step (*/2)"


def _backwards(part: _Part, term: str) -> str | None:
    """Return what to write for a range such as 22-2, which goes over the end of the field."""
    start, _, end = term.upper().partition("-")
    first, last = _value(part, start), _value(part, end)
    if first is None or last is None or first <= last:
        return None
    top = 6 if part.reader is Field.DOW else part.high
    return f"{_range(first, top)},{_range(part.low, last)}"


def _value(part: _Part, text: str) -> int | None:
    try:
        return part.reader.int(text)
    except (CronSimError, ValueError):  # ValueError: more digits than int() takes
        return None


def _range(first: int, last: int) -> str:
    return str(first) if first == last else f"{first}-{last}"

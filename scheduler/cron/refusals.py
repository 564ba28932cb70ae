"""Why a cron expression is refused: a sentence with the field, its fault and, if that helps, the remedy."""

import re
from dataclasses import dataclass

from cronsim import CronSimError
from cronsim.cronsim import Field
from django.utils.translation import gettext as _
from django.utils.translation import gettext_noop, ngettext

FORM = gettext_noop("minute hour day-of-month month day-of-week")
EXAMPLE = "30 2 * * *"


@dataclass(frozen=True, slots=True)
class _Part:
    name: str
    low: int
    high: int
    names: str
    reader: Field


_PARTS = (
    _Part(gettext_noop("minute"), 0, 59, "", Field.MINUTE),
    _Part(gettext_noop("hour"), 0, 23, "", Field.HOUR),
    _Part(
        gettext_noop("day-of-month"), 1, 31, gettext_noop(", L for the last day, LW for the last weekday"), Field.DAY
    ),
    _Part(gettext_noop("month"), 1, 12, gettext_noop(", JAN to DEC"), Field.MONTH),
    _Part(
        gettext_noop("day-of-week"),
        0,
        7,
        gettext_noop(", SUN to SAT, 5L for the last Friday, MON#2 for the second Monday"),
        Field.DOW,
    ),
)
# What is written by habit from other schedulers, or by slip: pattern of the term, predicate of the sentence.
_FAULTS = (
    (r"^$", gettext_noop("has an empty place beside a comma")),
    (r"\?", gettext_noop("uses ?, which is not known here: write * for every value")),
    (r"~", gettext_noop("asks for a random time (~): write one fixed time")),
    (r"/0+$", gettext_noop("has a step of 0: write at least 1")),
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
                text = _("The cron expression's %(name)s field %(where)s %(fault)s.")
                return text % {"name": _(part.name), "where": where, "fault": _fault(part, term)}
    return None


def _wrong_count(fields: list[str]) -> str:
    text = " ".join(fields)
    if not fields:
        text = _("The cron expression is empty. Write five fields: %(form)s, as in “%(example)s”.")
        return text % {"form": _(FORM), "example": EXAMPLE}
    if any(field.startswith(",") or field.endswith(",") for field in fields):
        refused = _("The cron expression “%(text)s” has a space beside a comma. Write lists without one, as in 1,15.")
        return refused % {"text": text}
    if len(fields) == len(_PARTS) + 1:
        return _(
            "The cron expression “%(text)s” has six fields, but seconds are not supported. Write five: %(form)s, as in "
            "“%(example)s”."
        ) % {"text": text, "form": _(FORM), "example": _without_seconds(fields)}
    return ngettext(
        "The cron expression “%(text)s” has %(count)s field instead of five: %(form)s, as in “%(example)s”.",
        "The cron expression “%(text)s” has %(count)s fields instead of five: %(form)s, as in “%(example)s”.",
        len(fields),
    ) % {"text": text, "count": len(fields), "form": _(FORM), "example": EXAMPLE}


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
            return _(fault)
    if backwards := _backwards(part, term):
        return _("runs backwards: write %(remedy)s") % {"remedy": backwards}
    if re.fullmatch(r"[\d/-]*\d", term, re.ASCII):
        return _("is not between %(low)s and %(high)s") % {"low": part.low, "high": part.high}
    return _("cannot be read: write *, %(low)s to %(high)s%(names)s, a range (1-5) or a step (*/2)") % {
        "low": part.low,
        "high": part.high,
        "names": part.names and _(part.names),
    }


def _backwards(part: _Part, term: str) -> str | None:
    """Return what to write for a range such as 22-2, which goes over the end of the field."""
    start, _dash, end = term.upper().partition("-")
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

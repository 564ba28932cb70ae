"""How long an answer asks to wait."""

import re
from collections.abc import Mapping
from datetime import UTC, datetime, timedelta
from email.utils import parsedate_to_datetime

LONGEST_WAIT = timedelta(days=31).total_seconds()
_SECONDS = re.compile(r"[+-]?[0-9]+(?:\.[0-9]+)?")


def retry_after(headers: Mapping[str, str], *, now: datetime | None = None) -> float | None:
    """Return the seconds that `retry-after` asks to wait, from 0 to 31 days; None where it says nothing readable.

    A date is counted from the answer's own `date`, so that no other clock matters.

    Args:
        headers: by lower-case names.
        now: from when a date is counted where the answer has none of its own; None: then nothing is guessed.
    """
    text = headers.get("retry-after", "").strip()
    if _SECONDS.fullmatch(text):
        return _bounded(float(text))
    until, answered = _date(text), _date(headers.get("date", "")) or now
    return None if until is None or answered is None else _bounded((until - answered).total_seconds())


def _bounded(seconds: float) -> float:
    return min(max(seconds, 0.0), LONGEST_WAIT)


def _date(text: str) -> datetime | None:
    try:
        date = parsedate_to_datetime(text)
    except (ValueError, IndexError, OverflowError):
        return None
    return date if date.tzinfo else date.replace(tzinfo=UTC)

"""How long an answer asks to wait."""

import re
from collections.abc import Mapping
from datetime import UTC, datetime, timedelta
from email.utils import parsedate_to_datetime

LONGEST_WAIT = timedelta(days=31).total_seconds()
_SECONDS = re.compile(r"[0-9]{1,9}(?:\.[0-9]{1,9})?")


def retry_after(headers: Mapping[str, str]) -> float | None:
    """Return the seconds that `retry-after` asks to wait, at most 31 days; None where it says nothing readable.

    Args:
        headers: by lower-case names. A date is counted from the answer's own `date`, so that no other clock matters.
    """
    text = headers.get("retry-after", "").strip()
    if _SECONDS.fullmatch(text):
        return min(float(text), LONGEST_WAIT)
    until, answered = _date(text), _date(headers.get("date", ""))
    if until is None or answered is None:
        return None
    return min(max((until - answered).total_seconds(), 0.0), LONGEST_WAIT)


def _date(text: str) -> datetime | None:
    try:
        date = parsedate_to_datetime(text)
    except (ValueError, IndexError, OverflowError):
        return None
    return date if date.tzinfo else date.replace(tzinfo=UTC)

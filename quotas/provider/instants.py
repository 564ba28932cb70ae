"""When: each of the forms in which providers say it, as one instant in UTC."""

import re
from datetime import UTC, datetime, timedelta
from decimal import Decimal
from email.utils import parsedate_to_datetime

from quotas.provider.observation import LONGEST_WAIT

LONGEST_TEXT = 100
NUMBER = re.compile(r"[+-]?[0-9]{1,25}(?:\.[0-9]{1,25})?")
# 1h2m3.5s, 6m0s, 250ms: Go's durations, and days
DURATION = re.compile(r"(?:[0-9]{1,10}(?:\.[0-9]{1,10})?(?:d|h|ms|m|s|us|µs|μs|ns))+")
DURATION_PART = re.compile(r"([0-9.]+)(d|h|ms|m|s|us|µs|μs|ns)")
RFC_3339 = re.compile(r"[0-9]{4}-[0-9]{2}-[0-9]{2}(?:[Tt ].*)?")
HTTP_DATE = re.compile(r"[A-Za-z]{3,9},? .*[0-9]{1,2}:[0-9]{2}:[0-9]{2}.*")
# Tue Feb 16 2021 09:02:42 GMT+0100 (Central European Standard Time): how JavaScript shows a date
SCRIPT_DATE = re.compile(
    r"[A-Z][a-z]{2} ([A-Z][a-z]{2}) ([0-9]{1,2}) ([0-9]{4}) ([0-9:]{8}) (?:GMT|UTC)((?:[+-][0-9]{4})?)(?: \(.*\))?"
)

SECONDS_OF = {
    "d": Decimal(86_400),
    "h": Decimal(3_600),
    "m": Decimal(60),
    "s": Decimal(1),
    "ms": Decimal("1e-3"),
    "us": Decimal("1e-6"),
    "µs": Decimal("1e-6"),
    "μs": Decimal("1e-6"),
    "ns": Decimal("1e-9"),
}
# A number of this size is no wait: it counts from 1970, in seconds, milliseconds, microseconds or nanoseconds. The
# ranges are 2001 to 2286.
EPOCHS = [(Decimal(10) ** (9 + 3 * step), Decimal(10) ** (10 + 3 * step), Decimal(1000) ** step) for step in range(4)]
EPOCH = datetime(1970, 1, 1, tzinfo=UTC)


class NotBelieved(ValueError):
    """The value makes no sense; the text ends the sentence “X said “…”, which …”."""


def read_instant(text: str, received_at: datetime, *, unit: str, their_clock_ahead: timedelta) -> datetime:
    """Return the instant that is meant, in UTC: from `received_at` (whatever is past already) to `LONGEST_WAIT` later.

    Args:
        text: seconds, a duration, seconds or finer since 1970, RFC 3339 or an HTTP date.
        unit: of a bare number that is a wait, "s" or "ms".
        their_clock_ahead: by how much the clock is ahead of ours on which an absolute time was read.

    Raises:
        NotBelieved: it is none of these, or further away than anybody's window.
    """
    said = text.strip()
    if len(said) > LONGEST_TEXT:
        raise NotBelieved("is too long for a time")
    wait = _wait(said, unit)
    if wait is None:
        # First the difference: by their clock, a date of the year 1 or 9999 would be beyond what a datetime holds.
        wait = _absolute(said) - received_at - their_clock_ahead
    return received_at + _believable(wait)


def _believable(wait: timedelta) -> timedelta:
    if wait > LONGEST_WAIT:
        raise NotBelieved(f"is more than {LONGEST_WAIT.days} days away")
    if wait < -LONGEST_WAIT:
        raise NotBelieved("is long past")
    return max(wait, timedelta(0))


def _wait(said: str, unit: str) -> timedelta | None:
    """Return how long from now, or None where it is a point in time."""
    if DURATION.fullmatch(said):
        return _of_seconds(sum(_part(*found) for found in DURATION_PART.findall(said)))
    if not NUMBER.fullmatch(said):
        return None
    number = max(Decimal(said), Decimal(0))  # what is said to be over is over
    return None if _since_1970(number) is not None else _of_seconds(number * SECONDS_OF[unit])


def _part(number: str, unit: str) -> Decimal:
    return Decimal(number) * SECONDS_OF[unit]


def _of_seconds(seconds: Decimal | int) -> timedelta:
    if seconds > LONGEST_WAIT.total_seconds():  # it may be more than a timedelta holds
        return LONGEST_WAIT + timedelta(seconds=1)
    return timedelta(microseconds=int(seconds * 1_000_000))


def _absolute(said: str) -> datetime:
    if NUMBER.fullmatch(said):
        since_1970 = _since_1970(Decimal(said))
        if since_1970 is not None:
            return EPOCH + since_1970
    if RFC_3339.fullmatch(said):
        return _rfc_3339(said)
    return read_date(said)


def _since_1970(number: Decimal) -> timedelta | None:
    for smallest, beyond, per_second in EPOCHS:
        if smallest <= number < beyond:
            return timedelta(microseconds=int(number / per_second * 1_000_000))
    return None


def _rfc_3339(said: str) -> datetime:
    try:
        return _aware(datetime.fromisoformat(said))
    except ValueError:
        raise NotBelieved("is no time") from None


def read_date(said: str) -> datetime:
    """Return the instant of an HTTP date in any of its three forms, or of JavaScript's.

    Raises:
        NotBelieved: it is none.
    """
    script = SCRIPT_DATE.fullmatch(said)
    if script is not None:
        month, day, year, clock, zone = script.groups()
        said = f"{day} {month} {year} {clock} {zone}"
    elif not HTTP_DATE.fullmatch(said):
        raise NotBelieved("is no time")
    try:
        return _aware(parsedate_to_datetime(said))
    except (ValueError, TypeError, IndexError, OverflowError):
        raise NotBelieved("is no time") from None


def _aware(instant: datetime) -> datetime:
    return instant.replace(tzinfo=UTC) if instant.tzinfo is None else instant

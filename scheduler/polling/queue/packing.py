"""How the scripts write instants, types and numbers: pure."""

from collections.abc import Iterable, Mapping, Sequence
from datetime import UTC, datetime, timedelta

from scheduler.polling.states import CheckType

TYPES = tuple(CheckType)
EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
MILLISECOND = timedelta(milliseconds=1)
MICROSECOND = timedelta(microseconds=1)

# Of each type: when it is due in six bytes, its failures in two. The highest number says: as it was.
# A further type changes what is written: then delete all keys of the queue, and it is rebuilt from the rows.
DUE_BYTES, FAILURES_BYTES = 6, 2
KEPT_DUE = b"\xff" * DUE_BYTES
KEPT_FAILURES = b"\xff" * FAILURES_BYTES
MOST_FAILURES = 2**16 - 2
NOT_DUE = bytes(DUE_BYTES)
NO_FAILURES = bytes(FAILURES_BYTES)

_TYPES_OF_MASK = tuple(
    tuple(type_ for bit, type_ in enumerate(TYPES) if mask >> bit & 1) for mask in range(2 ** len(TYPES))
)
_BIT = {type_: 1 << bit for bit, type_ in enumerate(TYPES)}


def mask_of(types: Iterable[CheckType]) -> int:
    """Return a set of types as a number."""
    return sum(_BIT[type_] for type_ in set(types))


def types_of(mask: int) -> tuple[CheckType, ...]:
    """Return the types of a mask, in their order."""
    return _TYPES_OF_MASK[mask]


def milliseconds(instant: datetime) -> int:
    """Return an instant (UTC) as the scripts know it."""
    return (instant - EPOCH) // MILLISECOND


def instant(milliseconds: float) -> datetime:
    """Return the instant that the scripts know by this number."""
    return EPOCH + milliseconds * MILLISECOND


def instant_or_none(score: float) -> datetime | None:
    """Return the instant of a number from a script; None for those that mean none."""
    return instant(score) if 0 < score < float("inf") else None


def packed_card(due: Mapping[CheckType, datetime | None], failures: Mapping[CheckType, int]) -> bytes:
    """Return what is kept of a card; absent: not due, no failures."""
    return b"".join(
        _due(due.get(type_)) + (_failures(failures[type_]) if type_ in failures else NO_FAILURES) for type_ in TYPES
    )


def packed_news(due: Mapping[CheckType, datetime | None], failures: Mapping[CheckType, int]) -> bytes:
    """Return what changes of a card; absent: as it was."""
    return b"".join(
        (_due(due[type_]) if type_ in due else KEPT_DUE)
        + (_failures(failures[type_]) if type_ in failures else KEPT_FAILURES)
        for type_ in TYPES
    )


def unpacked_asks(text: bytes) -> dict[CheckType, datetime]:
    """Return from when types are asked for, of what is kept of a card that is."""
    parts = (text[first : first + DUE_BYTES] for first in range(0, len(text), DUE_BYTES))
    numbers = zip(TYPES, (int.from_bytes(part, "big") for part in parts), strict=True)
    return {type_: instant(number) for type_, number in numbers if number}


def instants_by_type(numbers: Sequence[int]) -> dict[CheckType, datetime | None]:
    """Return the instants that a script tells of each type in turn."""
    return {type_: instant_or_none(number) for type_, number in zip(TYPES, numbers, strict=True)}


def _due(instant: datetime | None) -> bytes:
    return NOT_DUE if instant is None else milliseconds(instant).to_bytes(DUE_BYTES, "big")


def _failures(count: int) -> bytes:
    return min(count, MOST_FAILURES).to_bytes(FAILURES_BYTES, "big")

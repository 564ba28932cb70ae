"""How the scripts' replies are read, whether the client decodes texts or not: pure."""

from collections.abc import Mapping
from types import MappingProxyType
from typing import Any

from scheduler.polling.queue.entries import Claim, Counts, Requested, Round, RoundState, Sight, Traffic
from scheduler.polling.queue.packing import MILLISECOND, TYPES, instant, instant_or_none, instants_by_type, types_of
from scheduler.polling.states import CheckType

Text = bytes | str

# Shared by all claims of cards without failures.
NO_FAILURES: Mapping[CheckType, int] = MappingProxyType(dict.fromkeys(TYPES, 0))


def round_(account_id: int, reply: list[Any]) -> Round:
    """Read what `claim` answers."""
    state = RoundState(reply[0])
    if state is not RoundState.CLAIMED:
        return Round(state)
    first_token, told = reply[1:]
    words = text(told).split()
    cards = zip(words[::3], words[1::3], words[2::3], strict=True)
    return Round(
        state,
        tuple(
            Claim(account_id, int(card), token, types_of(int(mask)), _failures(failures))
            for token, (card, mask, failures) in enumerate(cards, first_token)
        ),
    )


def flags(reply: list[int]) -> list[bool]:
    """Read what holds for each card."""
    return [bool(flag) for flag in reply]


def requested(reply: list[int]) -> list[Requested]:
    """Read what `request` answers."""
    return [Requested(outcome) for outcome in reply]


def nothing(reply: Any) -> None:
    """Read what answers nothing."""


def sight(reply: list[Any]) -> Sight | None:
    """Read what `look` answers."""
    if not reply:
        return None
    now, turn, before, priority, lease_end, token, mask, executor, *by_type = reply
    due, failures, asked = by_type[: 2 * len(TYPES) : 2], by_type[1 : 2 * len(TYPES) : 2], by_type[2 * len(TYPES) :]
    return Sight(
        now=instant(now),
        due=instants_by_type(due),
        failures=dict(zip(TYPES, failures, strict=True)),
        asked={type_: at for type_, at in instants_by_type(asked).items() if at is not None},
        turn=instant_or_none(float(turn)),
        before=before,
        priority=instant_or_none(float(priority)),
        lease_end=instant_or_none(float(lease_end)),
        token=token,
        types=types_of(mask),
        executor=text(executor),
    )


def counts(reply: list[Any]) -> Counts:
    """Read what `count` answers."""
    epoch, *numbers = reply
    return Counts(text(epoch), *numbers)


def traffic(reply: list[int]) -> Traffic:
    """Read what `traffic` answers."""
    lately, calls, waits, waited, timeouts = reply
    return Traffic(lately, calls, waits, waited * MILLISECOND, timeouts)


def text(value: Text) -> str:
    """Return a text, whether the client has decoded it or not."""
    return value if isinstance(value, str) else value.decode()


def _failures(told: str) -> Mapping[CheckType, int]:
    return NO_FAILURES if told == "-" else dict(zip(TYPES, map(int, told.split(",")), strict=True))

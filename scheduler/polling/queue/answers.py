"""How the scripts' replies are read, whether the client decodes texts or not: pure."""

from typing import Any

from scheduler.polling.queue.entries import Claim, Counts, Requested, Round, RoundState, Sight
from scheduler.polling.queue.packing import TYPES, instant, instant_or_none, instants_by_type, types_of

Text = bytes | str


def round_(account_id: int, reply: list[Any]) -> Round:
    """Read what `claim` answers."""
    state = RoundState(reply[0])
    if state is not RoundState.CLAIMED:
        return Round(state)
    first_token, told = reply[1:]
    numbers = list(map(int, told.split()))
    width = 2 + len(TYPES)
    return Round(
        state,
        tuple(
            Claim(
                account_id,
                numbers[at],
                first_token + at // width,
                types_of(numbers[at + 1]),
                dict(zip(TYPES, numbers[at + 2 : at + width], strict=True)),
            )
            for at in range(0, len(numbers), width)
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


def text(value: Text) -> str:
    """Return a text, whether the client has decoded it or not."""
    return value if isinstance(value, str) else value.decode()

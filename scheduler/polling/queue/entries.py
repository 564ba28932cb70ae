"""What goes into the queue and what it tells: pure."""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime, timedelta
from enum import IntEnum
from typing import ClassVar, NamedTuple

from scheduler.polling.states import CheckType


class Card(NamedTuple):
    """A card to put into the queue.

    Attributes:
        due: when each type is due; absent or None: it is not checked by schedule.
        failures: of each type in a row; absent: none.
    """

    card_id: int
    due: Mapping[CheckType, datetime | None]
    failures: Mapping[CheckType, int]


class Claim(NamedTuple):
    """The leased right to work on a card.

    Attributes:
        token: what every write of the worker is fenced by; a later claim of any card of the account has a higher one.
        types: what is due, in the order of CheckType.
        failures: of each type in a row.
    """

    account_id: int
    card_id: int
    token: int
    types: tuple[CheckType, ...]
    failures: Mapping[CheckType, int]


class RoundState(IntEnum):
    """How the round of an account went; the numbers are the script's."""

    NOT_READY = 0  # it has to be rebuilt from the rows
    DONE = 1  # somebody had this second's round
    CLAIMED = 2


@dataclass(frozen=True, slots=True)
class Round:
    """What one dispatcher got of an account in one second."""

    state: RoundState
    claims: tuple[Claim, ...] = ()


class Finish(NamedTuple):
    """What came of a claim.

    Attributes:
        due: when types are due next, None: no more; a type that is absent stays as it is.
        failures: of types in a row; one that is absent stays as it is.
    """

    card_id: int
    token: int
    due: Mapping[CheckType, datetime | None]
    failures: Mapping[CheckType, int]


class Requested(IntEnum):
    """What became of a request; the numbers are the script's."""

    UNKNOWN = 0  # the card is not polled, or not by this account
    COOLING = 1  # the same scene asked for it a short time ago
    MERGED = 2  # it is asked for already, for then or earlier
    ASKED = 3
    AFTER_THIS_RUN = 4  # it is being worked on, and will be once more


@dataclass(frozen=True, slots=True)
class Sight:
    """All that the queue knows of a card.

    Attributes:
        now: the server's time, which all others are to be compared with.
        due: when each type is due by the schedule.
        asked: from when types are asked for beside it.
        turn: where it stands in the queue: when it is due, or the end of its lease; None: nothing is checked.
        before: how many cards stand before it there.
        priority: from when it has priority; None: it is not asked for, or claimed.
        lease_end, token, types, executor: of its claim; None, 0 and nothing where it has none. The executor is empty
            until the work is started.
    """

    now: datetime
    due: Mapping[CheckType, datetime | None]
    failures: Mapping[CheckType, int]
    asked: Mapping[CheckType, datetime]
    turn: datetime | None
    before: int
    priority: datetime | None
    lease_end: datetime | None
    token: int
    types: tuple[CheckType, ...]
    executor: str


@dataclass(frozen=True, slots=True)
class Counts:
    """What an account has in the queue, and what happened since it was made.

    Attributes:
        epoch: in which its cards were put; empty: they are being put, or have to be, and none can be claimed.
        due: cards whose turn has come by the schedule and that are not claimed.
        asked: cards that are asked for beside it and not claimed; `asked_now` those of them whose time has come.
        running: cards that are claimed.
        claimed, finished, released, lease_expired, stale_finish: how often.
    """

    epoch: str
    cards: int
    due: int
    asked: int
    asked_now: int
    running: int
    claimed: int
    finished: int
    released: int
    lease_expired: int
    stale_finish: int


@dataclass(frozen=True, slots=True)
class Traffic:
    """The calls to the carrier that an account's pollers made, as they have told so far.

    Attributes:
        lately: calls in the last LATELY seconds, the present one not counted.
        calls, waits: calls since it is counted, and those of them that had to wait for their slot, `waited` together.
        timeouts: how often a call was not made, as it would have had to wait too long.
    """

    lately: int
    calls: int
    waits: int
    waited: timedelta
    timeouts: int

    LATELY: ClassVar[int] = 60

    @property
    def rate(self) -> float:
        """Calls a second, of late."""
        return self.lately / self.LATELY

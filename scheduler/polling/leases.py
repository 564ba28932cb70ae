"""The claims that a poller holds: they are renewed while it works on them, and it notices when one is lost."""

import logging
import time
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from datetime import timedelta
from itertools import groupby
from uuid import uuid4

from redis.exceptions import RedisError

from scheduler.polling.queue import calls
from scheduler.polling.queue.entries import Claim
from scheduler.polling.queue.queue import AsyncQueue

logger = logging.getLogger(__name__)

LOOK_SECONDS = 1.0


@dataclass(slots=True)
class Held:
    """A claim that this process has started.

    Attributes:
        executor: under which it was started, of each message another: so that a doubled message is refused.
        until: on the monotonic clock; until then it is sure to hold.
        lost: somebody else has the card. That does not change any more.
        monotonic: seconds on a clock that nobody sets.
    """

    claim: Claim
    executor: str
    until: float
    lost: bool = False
    monotonic: Callable[[], float] = time.monotonic

    @property
    def is_lost(self) -> bool:
        """Whether somebody else has the card, or may have it by now: also where nobody could notice that in time, for
        the process stood still.
        """
        return self.lost or self.until <= self.monotonic()


class Leases:
    """Holds the claims of one process.

    Args:
        lease_seconds: how long a claim holds without being renewed.
        renew_seconds: how often it is renewed; where that fails, it is tried at each look.
        monotonic: seconds on a clock that nobody sets.
    """

    def __init__(
        self,
        queue: AsyncQueue,
        *,
        lease_seconds: float,
        renew_seconds: float,
        monotonic: Callable[[], float] = time.monotonic,
    ) -> None:
        self._queue, self._monotonic = queue, monotonic
        self._lease, self._renew_seconds = timedelta(seconds=lease_seconds), renew_seconds
        self._held: dict[tuple[int, int], Held] = {}

    @property
    def look_seconds(self) -> float:
        """How often `keep` is to be called."""
        return min(LOOK_SECONDS, self._renew_seconds / 2)

    def __len__(self) -> int:
        return len(self._held)

    async def take(self, account_id: int, claims: Sequence[Claim]) -> list[Held]:
        """Start the claims of one account and return those that are ours: not those that are out of date, or another's.

        Raises:
            RedisError: Redis is away. What was started all the same ends with its lease.
        """
        executor, until = uuid4().hex, self._until()
        started = await self._queue.ask(calls.start(account_id, executor, self._lease, _pairs(claims)))
        mine = [
            Held(claim, executor, until, monotonic=self._monotonic)
            for claim, ours in zip(claims, started, strict=True)
            if ours
        ]
        self._held |= {_pair(held.claim): held for held in mine}
        return mine

    def let_go(self, claims: Iterable[Claim]) -> None:
        """Renew the claims no more."""
        for claim in claims:
            self._held.pop(_pair(claim), None)

    async def give_back(self, held: Iterable[Held]) -> None:
        """Let the cards be claimed by others at once; where Redis is away, when their leases end."""
        held = list(held)
        for one in held:
            one.lost = True
        claims = sorted((one.claim for one in held), key=_account)
        self.let_go(claims)
        releases = [calls.release(account, _pairs(list(group))) for account, group in groupby(claims, _account)]
        try:
            await self._queue.perform(releases)
        except RedisError as error:
            logger.warning("%d cards are free again when their leases end: %s", len(claims), type(error).__name__)

    async def give_back_all(self) -> None:
        """Give back whatever is held; see `give_back`."""
        await self.give_back(list(self._held.values()))

    async def keep(self) -> None:
        """Look once: renew what has not been renewed for long enough, and see what is lost."""
        old = self._until() - self._renew_seconds
        due = sorted((held for held in self._held.values() if held.until <= old and not held.lost), key=_execution)
        groups = [list(group) for _, group in groupby(due, _execution)]
        try:
            await self._renew(groups)
        except RedisError as error:
            logger.warning("claims could not be renewed: %s", type(error).__name__)
        for held in due:
            held.lost = held.is_lost

    async def _renew(self, groups: Sequence[Sequence[Held]]) -> None:
        until = self._until()
        answers = await self._queue.perform([self._renewal(group) for group in groups])
        for group, renewed in zip(groups, answers, strict=True):
            if isinstance(renewed, RedisError):
                logger.warning("claims of the account %s are not renewed: %s", group[0].claim.account_id, renewed)
                continue
            for held, ours in zip(group, renewed, strict=True):
                held.until, held.lost = (until, held.lost) if ours else (held.until, True)

    def _renewal(self, group: Sequence[Held]) -> calls.Call[list[bool]]:
        account_id, executor = _execution(group[0])
        return calls.renew(account_id, executor, self._lease, _pairs([held.claim for held in group]))

    def _until(self) -> float:
        return self._monotonic() + self._lease.total_seconds()


def _pair(claim: Claim) -> tuple[int, int]:
    return claim.card_id, claim.token


def _pairs(claims: Sequence[Claim]) -> list[tuple[int, int]]:
    return [_pair(claim) for claim in claims]


def _account(claim: Claim) -> int:
    return claim.account_id


def _execution(held: Held) -> tuple[int, str]:
    return held.claim.account_id, held.executor

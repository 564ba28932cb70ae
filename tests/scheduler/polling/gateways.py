"""A gateway that answers what a test says, and access to it."""

import asyncio
from collections.abc import Awaitable, Callable, Mapping, Sequence
from typing import Any

from project.kit.secrets import Secret
from scheduler.polling import params
from scheduler.polling.accounts import Account
from scheduler.polling.carriers.base import Batch, Busy, CardRef, CarrierError, Outcome, Reading
from scheduler.polling.gateways import Access
from scheduler.polling.leases import Held
from scheduler.polling.outcomes import Polled, Subject
from scheduler.polling.queue.entries import Claim
from scheduler.polling.states import CheckType, ErrorClass
from scheduler.polling.stepping import Work
from tests.scheduler.polling.factories import facts, iccid

Answer = Outcome | Exception | Callable[[CardRef], Awaitable[Reading]]

NO_FAILURES = dict.fromkeys(CheckType, 0)
USED = Reading(5_000_000, "B", columns={"used_bytes": 5_000_000})
ACTIVE = Reading("active", columns={"state": "active"})
SERVER_ERROR = CarrierError(ErrorClass.SERVER, "The carrier failed.", "500")
THROTTLED = CarrierError(ErrorClass.THROTTLED, "Too many calls.", "429", retry_after=300)


class ScriptedGateway:
    """Answers each check with what it was given, and keeps what it was asked."""

    def __init__(self, answers: Mapping[CheckType, Answer], batches: Mapping[CheckType, Batch] | None = None) -> None:
        self._answers = answers
        self.supported = frozenset(answers)
        self.batches = batches or {}
        self.asked: list[tuple[CheckType, int]] = []

    async def ask(self, check: CheckType, card: CardRef) -> Reading:
        self.asked.append((check, card.id))
        answer = self._answers[check]
        if isinstance(answer, Exception):
            raise answer
        return answer if isinstance(answer, Reading) else await answer(card)

    async def stop(self, card: CardRef) -> None:
        raise NotImplementedError

    async def resume(self, card: CardRef) -> None:
        raise NotImplementedError


class ScriptedBatch:
    """A batch call that answers for each card what it was given, or raises it; it keeps who was asked for."""

    def __init__(self, answer: Answer, size: int = 100) -> None:
        self._answer = answer
        self.asked: list[list[int]] = []
        self.batch = Batch(size, self._ask)

    async def _ask(self, cards: Sequence[CardRef]) -> Mapping[int, Outcome]:
        self.asked.append([card.id for card in cards])
        if isinstance(self._answer, Exception) and not isinstance(self._answer, Busy | CarrierError):
            raise self._answer
        if isinstance(self._answer, Busy | CarrierError):
            raise self._answer
        assert isinstance(self._answer, Reading)
        return dict.fromkeys((card.id for card in cards), self._answer)


async def hangs(card: CardRef) -> Reading:
    """Never answer."""
    await asyncio.Event().wait()
    raise AssertionError


def access_to(gateway: Any, account_id: int = 1) -> Access:
    """Return the access to an account whose gateway is the given one."""
    account = Account(account_id, "an account", "scripted", {}, Secret.of(""), params.resolved(None), 0)
    return Access(account, gateway, asyncio.Semaphore(100), asyncio.Semaphore(100), 0.0)


def work_on(card_id: int = 1, *types: CheckType, failures: Mapping[CheckType, int] = NO_FAILURES) -> Work:
    """Return the work on a claimed card."""
    claim = Claim(1, card_id, 100 + card_id, types or tuple(CheckType), failures)
    subject = Subject(CardRef(card_id, iccid(card_id)), facts())
    return Work(Polled(claim, subject), Held(claim, "executor", float("inf")))

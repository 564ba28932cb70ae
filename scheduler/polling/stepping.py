"""A card that was started: its due checks one after another, each for itself. What came of them is only noted here;
see settling for what counts as a failure and what is written.
"""

import asyncio
import logging
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta

from project.kit.parts import parts_of
from scheduler.polling import calling
from scheduler.polling.carriers.base import Batch, Busy, CardRef, CarrierError, Outcome
from scheduler.polling.gateways import Access
from scheduler.polling.leases import Held
from scheduler.polling.outcomes import Asked, Polled
from scheduler.polling.states import OF_THE_ACCOUNT, CheckType, ErrorClass
from scheduler.polling.system_settings import Settings

logger = logging.getLogger(__name__)

# So long at least is a card left alone whose call would have had to wait too long.
SHORTEST_WAIT = timedelta(seconds=1)
# So long does this process leave an account alone, until the rows say for how long that is to be.
PEACE_SECONDS = 5.0

# What batch calls have brought for the cards already.
Given = Mapping[CheckType, Mapping[int, Outcome]]


@dataclass(slots=True)
class Work:
    """A card that this process has started, and its claim. Once that is lost, no further check is begun."""

    polled: Polled
    held: Held


class _Interrupted(Exception):
    """No further check of the card is begun for now."""


class Stepping:
    """Asks about the cards of one account, under the settings that hold now.

    Args:
        clock: tells the database's present instant, without asking it.
    """

    def __init__(self, access: Access, settings: Settings, clock: Callable[[], datetime]) -> None:
        self._access, self._settings, self._clock = access, settings, clock

    async def ask_together(self, works: Sequence[Work]) -> Given:
        """Return what the carrier tells of many cards in one call, where it has such calls."""
        given: dict[CheckType, dict[int, Outcome]] = {}
        for check in self._in_order(self._access.gateway.batches):
            batch = self._access.gateway.batches[check]
            due = [work for work in works if check in work.polled.claim.types]
            for some in parts_of(due, batch.size) if len(due) > 1 else ():
                held = [work for work in some if not work.held.is_lost]
                if held and not self._access.in_peace:
                    refs = [work.polled.subject.ref for work in held]
                    given.setdefault(check, {}).update(await self._batch(batch, refs))
        return given

    async def ask(self, work: Work, given: Given) -> None:
        """Ask the card's due checks in the configured order, and note in `work.polled` what came of each.

        One that fails does not keep the next from being asked. None is begun after the card was lost, or while its
        account is left in peace. It raises nothing.
        """
        checks = self._in_order(work.polled.claim.types)
        work.polled.unsupported = frozenset(work.polled.claim.types).difference(checks)
        try:
            async with asyncio.timeout(self._longest(len(checks))):
                for check in checks:
                    await self._step(work, check, given.get(check, {}))
        except _Interrupted:
            return
        except TimeoutError:
            under_way = checks[len(work.polled.asked)]
            self._note(work.polled, under_way, CarrierError(ErrorClass.TIMEOUT, "The time of all its checks is over."))

    def _in_order(self, checks: Iterable[CheckType]) -> list[CheckType]:
        order = {check: place for place, check in enumerate(self._settings.steps_order)}
        supported = self._access.gateway.supported.intersection(checks)
        return sorted(supported, key=lambda check: (order.get(check, len(order)), check))

    def _longest(self, checks: int) -> float:
        """Return the seconds that so many checks may take together, with what they may wait for place and slot."""
        one = self._settings.steps_timeout + 2 * self._settings.gateway_max_wait
        return checks * one + self._settings.steps_total_margin

    # --- one check ---------------------------------------------------------------------------------------------

    async def _step(self, work: Work, check: CheckType, given: Mapping[int, Outcome]) -> None:
        card = work.polled.subject.ref
        outcome = given.get(card.id)
        if outcome is None and (work.held.is_lost or self._access.in_peace):
            raise _Interrupted
        outcome = outcome or await self._outcome(check, card, work.held)
        if isinstance(outcome, CarrierError) and work.held.is_lost:
            raise _Interrupted  # a process that stood still takes that for the carrier's silence
        self._note(work.polled, check, outcome)

    async def _outcome(self, check: CheckType, card: CardRef, held: Held) -> Outcome:
        try:
            async with calling.step(self._settings.steps_timeout, is_void=lambda: held.is_lost):
                return await self._access.gateway.ask(check, card)
        except (CarrierError, Busy) as outcome:
            return outcome
        except TimeoutError:
            return self._too_late()
        except Exception as fault:
            return self._broken(fault)

    async def _batch(self, batch: Batch, cards: Sequence[CardRef]) -> Mapping[int, Outcome]:
        try:
            async with calling.step(self._settings.steps_timeout):
                return await batch.ask(cards)
        except (CarrierError, Busy) as outcome:
            self._heed(outcome)
            return dict.fromkeys((card.id for card in cards), outcome)
        except TimeoutError:
            return dict.fromkeys((card.id for card in cards), self._too_late())
        except Exception as fault:
            return dict.fromkeys((card.id for card in cards), self._broken(fault))

    def _note(self, polled: Polled, check: CheckType, outcome: Outcome) -> None:
        """Note what came of a check.

        Raises:
            _Interrupted: what came of it is no answer about the card, and the next check would fare no better.
        """
        now = self._clock()
        if isinstance(outcome, Busy):
            polled.again_at = now + max(timedelta(seconds=outcome.seconds), SHORTEST_WAIT)
            raise _Interrupted
        if not isinstance(outcome, CarrierError):
            polled.asked.append(Asked(check, now, reading=outcome))
        elif outcome.error_class not in OF_THE_ACCOUNT:
            polled.asked.append(Asked(check, now, error=outcome))
        else:
            polled.trouble = outcome
            self._heed(outcome)
            raise _Interrupted

    def _heed(self, outcome: CarrierError | Busy) -> None:
        """Leave the account in peace where that is what the carrier means."""
        if isinstance(outcome, CarrierError) and outcome.error_class in OF_THE_ACCOUNT:
            self._access.leave_in_peace(outcome.retry_after or PEACE_SECONDS)

    def _too_late(self) -> CarrierError:
        return CarrierError(ErrorClass.TIMEOUT, f"No answer within {self._settings.steps_timeout} s.")

    def _broken(self, fault: Exception) -> CarrierError:
        # A gateway that raises anything else has a fault of its own; the card's other checks go on.
        logger.error("the gateway %s failed", self._access.account.gateway, exc_info=fault)
        return CarrierError(ErrorClass.MALFORMED, "The gateway could not read the answer; the poller's log says more.")

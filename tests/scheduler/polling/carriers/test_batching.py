"""Asking for many cards when some of them make the carrier refuse them all."""

import asyncio
from collections.abc import Callable, Mapping, Sequence

import pytest

from scheduler.polling.carriers.base import Busy, CardRef, CarrierError, Outcome, Reading
from scheduler.polling.carriers.batching import without_spoilers
from scheduler.polling.states import ErrorClass

CARDS = [CardRef(number, f"89{number:018d}") for number in range(100)]


class Carrier:
    """Refuses batches by a rule, and counts how often it was asked."""

    def __init__(self, refuses: Callable[[set[int], int], Exception | None]) -> None:
        self._refuses, self.asked = refuses, 0

    async def ask(self, cards: Sequence[CardRef]) -> Mapping[int, Outcome]:
        self.asked += 1
        if error := self._refuses({card.id for card in cards}, self.asked):
            raise error
        return {card.id: Reading(card.id) for card in cards}

    def asked_apart(self, cards: Sequence[CardRef] = CARDS) -> Mapping[int, Outcome]:
        async def ask() -> Mapping[int, Outcome]:
            return await without_spoilers(self.ask)(cards)

        return asyncio.run(ask())


def spoiled_by(*spoilers: int, error_class: ErrorClass = ErrorClass.COOLDOWN) -> Carrier:
    return Carrier(lambda ids, _: CarrierError(error_class, "No.") if ids & set(spoilers) else None)


def failed(outcomes: Mapping[int, Outcome]) -> dict[int, type]:
    return {number: type(outcome) for number, outcome in outcomes.items() if not isinstance(outcome, Reading)}


@pytest.mark.parametrize("spoilers", [(), (0,), (99,), (49, 50), (3, 4, 77)])
def test_exactly_the_spoilers_fail_and_all_others_are_read(spoilers: tuple[int, ...]) -> None:
    outcomes = spoiled_by(*spoilers).asked_apart()

    assert failed(outcomes) == dict.fromkeys(spoilers, CarrierError)
    assert set(outcomes) == set(range(100))


@pytest.mark.parametrize("spoiler", range(100))
def test_one_spoiler_costs_at_most_fourteen_calls_more(spoiler: int) -> None:
    carrier = spoiled_by(spoiler)

    carrier.asked_apart()

    assert carrier.asked <= 15


@pytest.mark.parametrize("error_class", sorted(set(ErrorClass) - {
    ErrorClass.CARD_MISSING, ErrorClass.CARD_NOT_OWNED, ErrorClass.STATE_FORBIDS, ErrorClass.COOLDOWN
}))  # fmt: skip
def test_what_is_no_fault_of_a_card_is_not_searched_for(error_class: ErrorClass) -> None:
    carrier = spoiled_by(1, error_class=error_class)

    with pytest.raises(CarrierError) as caught:
        carrier.asked_apart()

    assert (caught.value.error_class, carrier.asked) == (error_class, 1)


@pytest.mark.parametrize("later", [Busy(2), CarrierError(ErrorClass.THROTTLED, "Too often.")])
def test_what_was_learned_is_kept_when_the_search_cannot_go_on(later: Exception) -> None:
    def refuse(ids: set[int], asked: int) -> Exception | None:
        if asked == 1:
            return CarrierError(ErrorClass.CARD_MISSING, "No.")
        return later if 99 in ids else None

    outcomes = Carrier(refuse).asked_apart()

    assert failed(outcomes) == dict.fromkeys(range(50, 100), type(later))

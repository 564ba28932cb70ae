"""What came of asking a carrier about cards, for their accounts."""

import pytest

from scheduler.polling.carriers.base import CardRef, CarrierError
from scheduler.polling.outcomes import Polled, Subject, troubles
from scheduler.polling.queue import Claim
from scheduler.polling.states import ErrorClass
from tests.scheduler.polling.factories import facts


def throttled(seconds: float | None) -> CarrierError:
    return CarrierError(ErrorClass.THROTTLED, "carrier.example is asked too often.", retry_after=seconds)


def polled(account_id: int, trouble: CarrierError | None) -> Polled:
    """Return a card of the account, with what the account has to be left in peace for."""
    return Polled(Claim(account_id, 1, 1, (), {}), Subject(CardRef(1, ""), facts()), trouble=trouble)


@pytest.mark.parametrize(
    ("asked", "longest"),
    [
        ([5, 60, 30], 1),
        ([None, 0.5], 1),  # half a second is longer than a pause of which nothing is said
        ([0.5, None], 0),
        ([7, 7], 0),  # of equals what was told first
        ([None, None], 0),
        ([None, 0], 0),
    ],
)
def test_an_account_is_left_in_peace_for_the_longest_pause_that_it_asks_for(
    asked: list[float | None], longest: int
) -> None:
    told = [throttled(seconds) for seconds in asked]

    assert troubles([polled(1, trouble) for trouble in told]) == {1: told[longest]}


def test_each_account_has_its_own_troubles_and_most_have_none() -> None:
    short, long = throttled(5), throttled(60)

    assert troubles([polled(1, None), polled(2, short), polled(3, None), polled(4, long), polled(2, None)]) == {
        2: short,
        4: long,
    }
    assert troubles([polled(1, None)]) == {}

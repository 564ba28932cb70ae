"""Why a card that is in order is not asked right now: claimed, due, or later."""

from collections.abc import Callable
from datetime import timedelta

import pytest
from redis import Redis

from quotas.ratelimit import Limiter, Window
from scheduler.explaining import Scan
from scheduler.polling import capacity
from scheduler.polling.explaining import Situation
from scheduler.polling.queue import Finish, calls, limiter_name
from scheduler.polling.states import CheckType
from tests.scheduler.polling.explained import Fleet, why
from tests.scheduler.polling.factories import HOUR, MINUTE, make_cards, make_checks, make_tier
from tests.scheduler.polling.fleet.conftest import redis  # noqa: F401 - a fixture

pytestmark = pytest.mark.django_db

USAGE, STATUS = CheckType.USAGE, CheckType.CARD_STATUS


@pytest.fixture
def fleet(redis: Redis) -> Fleet:  # noqa: F811 - the fixture
    """A fleet whose one tier asks for usage each hour and status each day."""
    make_tier(name="all")
    return Fleet(redis)


# --- claimed ---------------------------------------------------------------------------------------------------


def test_a_claimed_card_waits_for_a_poller_until_one_asks_it(fleet: Fleet) -> None:
    (card,) = fleet.cards()
    (claim,) = fleet.claim()
    said = why(card)
    assert said.situation is Situation.ON_ITS_WAY
    assert "It is claimed for usage and card status and waits in the queue polling.card" in said.sentences[0]
    fleet.queue.ask(calls.start(fleet.account.pk, "0123456789abcdef", MINUTE, [(card.pk, claim.token)]))
    said = why(card)
    assert said.situation is Situation.IN_WORK
    assert "work 01234567 asks it just now: usage and card status" in said.sentences[0]


def test_a_card_in_work_that_is_asked_for_is_asked_once_more(fleet: Fleet) -> None:
    (card,) = fleet.cards()
    fleet.claim()
    fleet.queue.ask(calls.request(fleet.account.pk, [card.pk], [USAGE]))
    assert "is asked once more afterwards" in why(card).sentences[0]


def test_a_claim_whose_lease_has_ended_is_freed_by_the_next_round(fleet: Fleet) -> None:
    (card,) = fleet.cards()
    fleet.claim(lease=timedelta(milliseconds=1))
    said = why(card)
    assert said.situation is Situation.LEASE_LOST
    assert "The next round frees it." in said.sentences[0]


# --- due -------------------------------------------------------------------------------------------------------


def test_a_due_card_says_how_many_stand_before_it_and_how_long_they_take(fleet: Fleet) -> None:
    fleet.params(rate_windows=[{"limit": 5, "seconds": 1}])
    fleet.cards(20, due=fleet.now - HOUR)
    (last,) = fleet.cards()
    said = why(last)
    assert said.situation is Situation.WAITS_ITS_TURN
    assert "20 cards of its account stand before it. At 5 in 1 s that takes 4 s at least." in said.sentences[0]
    assert said.next_at is not None


def test_the_first_due_card_is_claimed_by_the_next_round(fleet: Fleet) -> None:
    (card,) = fleet.cards()
    assert "comes first: the next round claims it." in why(card).sentences[0]


def test_a_card_that_is_asked_for_goes_before_the_others(fleet: Fleet) -> None:
    fleet.cards(5)
    (card,) = fleet.cards(due=fleet.now + HOUR)
    fleet.queue.ask(calls.request(fleet.account.pk, [card.pk], [USAGE]))
    said = why(card)
    assert said.situation is Situation.WAITS_ITS_TURN
    assert "was asked for, so it goes before" in said.sentences[0]


def _silent(fleet: Fleet) -> Scan:
    return Scan(fleet.now - HOUR)


def _no_poller(fleet: Fleet) -> None:
    capacity.say(fleet.redis, "polling.card", "poller", 0)


def _all_in_work(fleet: Fleet) -> None:
    fleet.params(inflight_limit=1)
    fleet.claim()


@pytest.mark.parametrize(
    ("happens", "situation", "sentence"),
    [
        (_silent, Situation.NOBODY_DISPATCHES, "Start beat and a worker."),
        (_no_poller, Situation.NO_POLLER, "No poller reads the queue polling.card. Start one."),
        (_all_in_work, Situation.ALL_PLACES_TAKEN, "As many cards of “acme” are in work as may be at once: 1."),
    ],
)
def test_what_keeps_a_due_card_waiting_is_named_before_its_place(
    happens: Callable[[Fleet], Scan | None], situation: Situation, sentence: str, fleet: Fleet
) -> None:
    fleet.cards(due=fleet.now - HOUR)
    (card,) = fleet.cards()
    said = why(card, dispatch=happens(fleet))
    assert said.situation is situation
    assert sentence in said.sentences[0]
    assert said.reasons[-1].situation is Situation.WAITS_ITS_TURN


def test_a_card_that_waits_for_the_limit_is_told_which(fleet: Fleet) -> None:
    (card,) = fleet.cards()
    fleet.params(rate_windows=[{"limit": 2, "seconds": 30, "even": False}])
    Limiter(fleet.redis, limiter_name(fleet.account.pk), [Window(2, 30, even=False)]).book(cost=2)
    turn, limit = why(card).reasons
    assert turn.situation is Situation.WAITS_ITS_TURN
    assert limit.situation is Situation.LIMIT_REACHED
    assert "calls of this second are made: its limit is 2 in 30 s." in limit.sentence


# --- later -----------------------------------------------------------------------------------------------------


def test_a_card_that_is_due_later_says_when(fleet: Fleet) -> None:
    due = fleet.now.replace(microsecond=0) + HOUR
    (card,) = fleet.cards(due=due)
    said = why(card)
    assert said.situation is Situation.DUE_LATER
    assert f"Nothing of it is due before {due:%Y-%m-%d %H:%M:%S} UTC (in " in said.sentences[0]
    assert said.next_at == due


def test_a_check_that_fails_says_how_often_and_with_what(fleet: Fleet) -> None:
    (card,) = make_cards(fleet.account, 1)
    failed = fleet.now - MINUTE
    make_checks([card], failures=3, first_failed_at=failed, last_failed_at=failed, error="502 from the carrier")
    fleet.in_order()
    (line,) = [line for line in why(card).schedule if line.startswith("Usage")]
    assert "It failed 3 times in a row, last at " in line
    assert line.endswith(" 502 from the carrier.")


def test_a_card_of_which_nothing_is_due_waits_until_somebody_asks(fleet: Fleet) -> None:
    (card,) = fleet.cards()
    (claim,) = fleet.claim()
    never = dict.fromkeys((USAGE, STATUS), None)
    fleet.queue.ask(calls.finish(fleet.account.pk, [Finish(card.pk, claim.token, never, {})]))
    said = why(card)
    assert said.situation is Situation.NEVER_DUE
    assert said.next_at is None

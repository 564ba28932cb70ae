"""One round a second: what each account bears, what the pollers can hold, and nothing is lost when nothing goes out."""

import json
from typing import Any

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext
from kombu.exceptions import OperationalError
from redis import Redis

from project.kit.clock import database_now
from scheduler.polling import accounts, capacity, connecting, dispatching, holding
from scheduler.polling.dispatching import CARDS_A_MESSAGE, Dispatched, dispatch
from scheduler.polling.messages import from_message
from scheduler.polling.models import CarrierAccount, PollingParams
from scheduler.polling.queue import Queue, calls
from scheduler.polling.queue.keys import key_of
from scheduler.polling.states import CheckType
from tests.scheduler.polling.factories import MINUTE, make_account, make_cards
from tests.scheduler.polling.fleet.conftest import redis  # noqa: F401 - a fixture
from tests.scheduler.polling.fleets import counts, put_in_order

pytestmark = pytest.mark.django_db

Sent = list[tuple[str, int, int]]


@pytest.fixture(autouse=True)
def _pollers(redis: Redis) -> None:  # noqa: F811 - the fixture
    capacity.say(redis, "polling.card", "poller", 1000)


@pytest.fixture
def sent(monkeypatch: pytest.MonkeyPatch) -> Sent:
    """What is sent out: queue, account and number of cards of each message."""
    messages: Sent = []

    def publish(producer: Any, task: str, arguments: Any, *, queue: str, shown: str) -> None:
        account_id, claims = json.loads(json.dumps(arguments))
        messages.append((queue, account_id, len(claims)))

    monkeypatch.setattr(dispatching, "publish", publish)
    return messages


def fleet(cards: int, **said: Any) -> CarrierAccount:
    """Insert an account with due cards."""
    account = make_account()
    PollingParams.objects.create(account=account, changed_at=account.created_at, **{"rate_windows": []} | said)
    make_cards(account, cards)
    put_in_order(account)
    return account


def round_() -> Dispatched:
    return dispatch(connecting.client(), now=database_now())


def test_due_cards_go_out_in_small_batches_the_first_of_each_account_before_the_second_of_any(sent: Sent) -> None:
    one, other = fleet(120), fleet(70)
    dispatched = round_()
    assert sent == [
        ("polling.card", one.pk, CARDS_A_MESSAGE),
        ("polling.card", other.pk, CARDS_A_MESSAGE),
        ("polling.card", one.pk, CARDS_A_MESSAGE),
        ("polling.card", other.pk, 20),
        ("polling.card", one.pk, 20),
    ]
    assert (dispatched.cards, dispatched.messages, dispatched.note) == (190, 5, "")


def test_an_account_is_claimed_for_up_to_its_limit_and_no_further(sent: Sent) -> None:
    account = fleet(50, inflight_limit=7)
    assert round_().cards == 7
    assert counts(account).running == 7


def test_no_more_calls_are_claimed_than_the_windows_allow_until_a_late_next_round(sent: Sent) -> None:
    fleet(50, rate_windows=[{"limit": 10, "seconds": 1}])
    # Each card has two calls, and a second and a half of ten has fifteen.
    assert round_().cards in (7, 8)


def test_an_account_with_one_place_for_calls_has_only_a_few_cards_in_work(sent: Sent) -> None:
    fleet(50, max_concurrency=1)
    assert round_().cards == accounts.CARDS_A_PLACE


def test_what_the_accounts_want_beyond_what_the_pollers_hold_is_shared_fairly_and_said(
    sent: Sent,
    redis: Redis,  # noqa: F811
) -> None:
    capacity.say(redis, "polling.card", "poller", 60)
    small, large, larger = fleet(20, inflight_limit=10), fleet(100, inflight_limit=100), fleet(300, inflight_limit=300)
    dispatched = round_()
    assert [counts(account).running for account in (small, large, larger)] == [10, 25, 25]
    assert dispatched.note == "The pollers of polling.card hold 60 cards, and its accounts want 410."


def test_each_account_has_one_card_at_least_however_little_the_pollers_hold(
    sent: Sent,
    redis: Redis,  # noqa: F811
) -> None:
    capacity.say(redis, "polling.card", "poller", 1)
    accounts = [fleet(5) for _ in range(3)]
    round_()
    assert [counts(account).running for account in accounts] == [1, 1, 1]


def test_a_poller_that_says_nothing_any_longer_counts_no_more_and_is_forgotten(redis: Redis) -> None:  # noqa: F811
    said = capacity._key("polling.card")
    redis.hset(said, "the dead", "500 1")  # until the first second of 1970
    assert capacity.of_queues(redis, ["polling.card"]) == {"polling.card": 1000}
    assert redis.hkeys(said) == [b"poller"]


def test_without_a_poller_nothing_is_claimed_and_that_is_said(sent: Sent, redis: Redis) -> None:  # noqa: F811
    capacity.say(redis, "polling.card", "poller", 0)
    account = fleet(5)
    assert round_().note == "No poller reads the queue polling.card: the cards of 1 account wait."
    assert counts(account).running == 0


def test_an_account_with_a_queue_of_its_own_waits_for_its_own_pollers(sent: Sent, redis: Redis) -> None:  # noqa: F811
    own, shared = fleet(5, queue="polling.card.own"), fleet(5)
    round_()
    assert (counts(own).running, counts(shared).running) == (0, 5)
    capacity.say(redis, "polling.card.own", "its poller", 10)
    # in whatever second that is: only the other account may have had its round already
    round_()
    assert ("polling.card.own", own.pk, 5) in sent


@pytest.mark.parametrize(("holds", "cards"), [(0, 8), (1, 4), (2, 2), (3, 1), (30, 1)])
def test_after_holds_in_a_row_an_account_has_half_as_many_cards_in_work_for_each(
    sent: Sent, holds: int, cards: int
) -> None:
    account = fleet(20, inflight_limit=8)
    CarrierAccount.objects.filter(pk=account.pk).update(hold_count=holds)
    assert round_().cards == cards


def test_an_account_that_is_held_or_switched_off_has_no_round(sent: Sent) -> None:
    held, off = fleet(5), fleet(5)
    until = database_now() + MINUTE
    CarrierAccount.objects.filter(pk=held.pk).update(held_until=until, held_class="throttled")
    CarrierAccount.objects.filter(pk=off.pk).update(active=False)
    assert round_().cards == 0
    holding.release(held.pk, sentence="Released.", now=database_now())
    assert round_().cards == 5


def test_an_account_whose_order_is_lost_is_named_and_the_others_have_their_round(
    sent: Sent,
    redis: Redis,  # noqa: F811
) -> None:
    lost, fine = fleet(5), fleet(5)
    Queue(redis).ask(calls.begin_rebuild(lost.pk))
    dispatched = round_()
    assert (dispatched.not_ready, dispatched.cards) == ([lost.pk], 5)
    assert counts(fine).running == 5


def test_if_nothing_can_be_published_the_claims_are_given_back_and_that_is_said(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    account = fleet(120)

    def publish(*arguments: Any, **options: Any) -> None:
        raise OperationalError("gone")

    monkeypatch.setattr(dispatching, "publish", publish)
    dispatched = round_()
    assert dispatched.note == "Broker unreachable (OperationalError): due cards wait until it is back."
    assert (dispatched.cards, counts(account).running, counts(account).due) == (0, 0, 120)


def test_an_account_that_redis_refuses_stops_none_of_the_others(sent: Sent, redis: Redis) -> None:  # noqa: F811
    broken, fine = fleet(5), fleet(5)
    redis.set(key_of(broken.pk, "running"), "no sorted set")
    assert round_().cards == 5
    assert counts(fine).running == 5


def test_a_round_over_many_accounts_asks_the_database_once(sent: Sent) -> None:
    for _ in range(20):
        fleet(1)
    with CaptureQueriesContext(connection) as queries:
        dispatch(connecting.client(), now=database_now())
    assert len(queries) == 2  # with the clock


def test_a_message_travels_as_json_and_is_read_as_what_was_claimed(monkeypatch: pytest.MonkeyPatch) -> None:
    account = fleet(3)
    told: list[Any] = []
    monkeypatch.setattr(dispatching, "publish", lambda producer, task, arguments, **_: told.append(arguments))
    round_()
    account_id, message = json.loads(json.dumps(told[0]))
    claims = from_message(account_id, message)
    assert [claim.card_id for claim in claims] == list(account.cards.order_by("pk").values_list("pk", flat=True))
    assert {claim.types for claim in claims} == {(CheckType.USAGE, CheckType.CARD_STATUS)}
    assert len({claim.token for claim in claims}) == 3

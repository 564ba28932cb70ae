"""Dispatchers and pollers that get in each other's way: each second of an account is one dispatcher's, each card one
poller's, and whoever stood still meanwhile is refused.
"""

import threading
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack
from typing import Any

import pytest
from pytest_django import Settings

from project.kit.clock import database_now
from scheduler.polling import capacity, connecting, dispatching
from scheduler.polling.carriers.simulator import AccountPlan, RunningCarrier, simulated_carrier
from scheduler.polling.dispatching import CARDS_A_MESSAGE, dispatch
from scheduler.polling.messages import from_message
from scheduler.polling.models import CardCheck, CarrierAccount
from scheduler.polling.params import SHARED_QUEUE
from scheduler.polling.queue import Claim
from tests.races.helpers import PATIENCE_SECONDS, in_the_background
from tests.scheduler.polling.factories import make_tier
from tests.scheduler.polling.fleet.conftest import redis  # noqa: F401 - a fixture
from tests.scheduler.polling.fleets import claimed, counts, make_fleet, poller, wait_until

pytestmark = [pytest.mark.django_db(transaction=True), pytest.mark.usefixtures("redis")]

MICROSECONDS = 1_000_000


@pytest.fixture
def carrier(settings: Settings) -> Iterator[RunningCarrier]:
    settings.TIDELINE_POLLING_LEASE_SECONDS = 1
    settings.TIDELINE_POLLING_RENEW_SECONDS = 0.3
    make_tier(usage_seconds=3600, card_status_seconds=3600)
    capacity.say(connecting.client(), SHARED_QUEUE, "poller", 1000)
    with simulated_carrier(AccountPlan(latency=200), AccountPlan("other", latency=200)) as carrier:
        settings.TIDELINE_ALLOWED_HOSTS_INWARD = [carrier.place]
        yield carrier


@pytest.fixture
def sent(monkeypatch: pytest.MonkeyPatch) -> list[Sequence[Claim]]:
    """The claims of each message that is sent out, in place of a broker."""
    messages: list[Sequence[Claim]] = []
    monkeypatch.setattr(dispatching, "publish", lambda *message, **_: messages.append(claims_in(message)))
    return messages


def claims_in(message: Sequence[Any]) -> Sequence[Claim]:
    """Return the claims of a message as it is handed to `publish`."""
    account_id, claims = message[2]
    return from_message(account_id, claims)


def round_() -> None:
    """Do a round as a dispatcher does each second."""
    dispatch(connecting.client(), now=database_now())


def rounds_until(happened: Callable[[], object], what: str) -> None:
    """Do one round after another until something has happened."""

    def happens() -> object:
        round_()
        return happened()

    wait_until(happens, what)


def claimed_again(account: CarrierAccount) -> tuple[Claim, ...]:
    """Return the cards as they are claimed again after their leases."""
    claims: list[Claim] = []

    def are_claimed() -> bool:
        claims.extend(claimed(account))
        return bool(claims)

    wait_until(are_claimed, "the leases to end")
    return tuple(claims)


def test_several_dispatchers_at_once_claim_each_card_once_each_account_once_a_second_and_none_above_its_limit(
    carrier: RunningCarrier, sent: list[Sequence[Claim]], settings: Settings
) -> None:
    settings.TIDELINE_POLLING_LEASE_SECONDS = 600
    paced = make_fleet(carrier, cards=30, rate_windows=[{"limit": 6, "seconds": 1}])
    limited = make_fleet(carrier, "other", cards=30, inflight_limit=7)
    enough = threading.Event()

    def dispatch_for_ever() -> None:
        while not enough.is_set():
            round_()

    with ExitStack() as dispatchers:
        for _ in range(4):
            dispatchers.enter_context(in_the_background(dispatch_for_ever))
        dispatchers.callback(enough.set)
        wait_until(lambda: counts(paced).running > 10, "three rounds or more")

    claims = [claim for message in sent for claim in message]
    assert len({claim.card_id for claim in claims}) == len(claims)
    rounds = Counter((message[0].account_id, message[0].token // MICROSECONDS) for message in sent)
    assert max(rounds.values()) == 1
    assert counts(limited).running == 7
    assert Counter(claim.account_id for claim in claims)[limited.pk] == 7


@pytest.mark.slow
def test_case_17_what_a_dispatcher_sends_that_stood_still_beyond_its_second_is_refused(
    carrier: RunningCarrier, monkeypatch: pytest.MonkeyPatch
) -> None:
    account = make_fleet(carrier, cards=5)
    stands, goes_on, sent = threading.Event(), threading.Event(), list[Sequence[Claim]]()

    def publish(*message: Any, **_: Any) -> None:
        if not stands.is_set():
            stands.set()
            assert goes_on.wait(PATIENCE_SECONDS)
        sent.append(claims_in(message))

    monkeypatch.setattr(dispatching, "publish", publish)
    with in_the_background(round_):
        assert stands.wait(PATIENCE_SECONDS)
        rounds_until(lambda: sent, "another dispatcher to claim the cards after their lease")
        goes_on.set()

    fresh, stale = sent
    assert {claim.card_id for claim in fresh} == {claim.card_id for claim in stale}
    with poller() as engine:
        engine.submit(account.pk, stale)
        engine.submit(account.pk, fresh)
        engine.submit(account.pk, stale)
        wait_until(lambda: counts(account).finished == 5, "all cards to be settled")
    assert carrier.stats()["calls"] == {"status": 5, "usage": 5}
    assert set(CardCheck.objects.values_list("token", flat=True)) == {claim.token for claim in fresh}


def test_case_26_what_a_dispatcher_had_claimed_that_failed_amid_its_round_is_claimed_again_after_its_lease(
    carrier: RunningCarrier, monkeypatch: pytest.MonkeyPatch
) -> None:
    account = make_fleet(carrier, cards=2 * CARDS_A_MESSAGE)
    sent: list[Sequence[Claim]] = []

    def publish(*message: Any, **_: Any) -> None:
        if len(sent) == 1:
            sent.append([])
            raise ZeroDivisionError("a fault")
        sent.append(claims_in(message))

    monkeypatch.setattr(dispatching, "publish", publish)
    with pytest.raises(ZeroDivisionError):
        round_()
    with poller() as engine:
        engine.submit(account.pk, sent[0])
        wait_until(lambda: carrier.stats()["calls"], "its cards to be held")
        rounds_until(lambda: len(sent) > 2, "the next round that has cards")
        engine.submit(account.pk, sent[2])
        wait_until(lambda: counts(account).finished == 2 * CARDS_A_MESSAGE, "all cards to be settled")
    assert not {claim.card_id for claim in sent[0]} & {claim.card_id for claim in sent[2]}
    assert carrier.stats()["calls"] == {"status": 100, "usage": 100}


@pytest.mark.slow
def test_case_13_a_poller_that_was_busy_for_longer_than_its_lease_asks_no_further_and_its_results_are_refused(
    carrier: RunningCarrier,
) -> None:
    account = make_fleet(carrier, cards=3)
    free = threading.Event()
    with poller() as busy, poller() as other:
        busy.submit(account.pk, claimed(account, lease=1))
        wait_until(lambda: carrier.stats()["in_flight"] == 3, "the first calls to be under way")
        busy._loop.call_soon_threadsafe(free.wait, PATIENCE_SECONDS)
        again = claimed_again(account)
        other.submit(account.pk, again)
        wait_until(lambda: counts(account).finished == 3, "the other poller to settle the cards")
        free.set()
        wait_until(lambda: counts(account).stale_finish == 3, "the busy poller to hand in what it has")
    assert carrier.stats()["calls"] == {"status": 6, "usage": 3}
    assert set(CardCheck.objects.values_list("token", flat=True)) == {claim.token for claim in again}
    assert (counts(account).lease_expired, counts(account).cards, counts(account).running) == (3, 3, 0)

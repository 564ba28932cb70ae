"""A poller with a real Redis, real rows and a carrier over HTTP: what it holds, what it lets go, what it survives."""

import asyncio
import threading
from collections.abc import Callable, Iterator
from typing import Any

import pytest
from django.db import DataError, InterfaceError, OperationalError
from pytest_django import Settings
from redis.exceptions import ConnectionError as RedisAway
from structlog.contextvars import get_contextvars

from alerts.models import Alert
from scheduler.polling import capacity, connecting, settler, settling
from scheduler.polling import engine as engine_module
from scheduler.polling import poller as poller_module
from scheduler.polling.carriers.simulator import AccountPlan, Fault, FaultKind, RunningCarrier, simulated_carrier
from scheduler.polling.engine import Engine
from scheduler.polling.gateways import Gateways
from scheduler.polling.leases import Leases
from scheduler.polling.models import Card, CardCheck, CarrierAccount
from scheduler.polling.outcomes import Polled, Settled
from scheduler.polling.params import SHARED_QUEUE
from scheduler.polling.queue import AsyncQueue, Queue, calls
from scheduler.polling.queue.keys import key_of
from scheduler.polling.settler import Settler
from scheduler.polling.stepping import Given, Stepping, Work
from tests.scheduler.polling.factories import make_tier
from tests.scheduler.polling.fleet.conftest import redis  # noqa: F401 - a fixture
from tests.scheduler.polling.fleets import claimed, counts, make_fleet, poller, wait_until

pytestmark = [pytest.mark.django_db(transaction=True), pytest.mark.usefixtures("redis")]


@pytest.fixture(scope="module")
def running() -> Iterator[RunningCarrier]:
    plans = AccountPlan(latency=0), AccountPlan("slow", latency=600), AccountPlan("single", latency=20, concurrency=1)
    with simulated_carrier(*plans) as carrier:
        yield carrier


@pytest.fixture
def carrier(running: RunningCarrier, settings: Settings) -> Iterator[RunningCarrier]:
    settings.TIDELINE_ALLOWED_HOSTS_INWARD = [running.place]
    make_tier(usage_seconds=3600, card_status_seconds=3600)
    yield running
    running.clear_faults()


def calls_of(carrier: RunningCarrier, account: str = "main") -> int:
    """Return how often the account was called."""
    return sum(carrier.stats(account)["calls"].values())


# --- claims ----------------------------------------------------------------------------------------------------


def test_claimed_cards_are_asked_and_settled_and_are_due_again_after_their_interval(carrier: RunningCarrier) -> None:
    account = make_fleet(carrier, cards=20)
    before = calls_of(carrier)
    with poller() as engine:
        engine.submit(account.pk, claimed(account))
        wait_until(lambda: counts(account).finished == 20, "all cards to be settled")
    assert CardCheck.objects.filter(failures=0, succeeded_at__isnull=False).count() == 40
    assert calls_of(carrier) - before == 40
    assert (counts(account).due, counts(account).running, counts(account).cards) == (0, 0, 20)


def test_what_is_logged_while_a_card_is_asked_names_it(
    carrier: RunningCarrier, monkeypatch: pytest.MonkeyPatch
) -> None:
    account, seen, ask = make_fleet(carrier, cards=3), [], Stepping.ask

    async def asked(self: Stepping, work: Work, given: Given) -> None:
        seen.append((get_contextvars(), work.polled.claim.card_id))
        await ask(self, work, given)

    monkeypatch.setattr(Stepping, "ask", asked)
    with poller() as engine:
        engine.submit(account.pk, claimed(account))
        wait_until(lambda: counts(account).finished == 3, "the cards to be settled")
    assert len({card_id for _, card_id in seen}) == 3
    for ids, card_id in seen:
        assert ids == {"account": account.pk, "card": card_id}


def test_case_23_the_same_tokens_given_to_several_consumers_are_executed_by_one(carrier: RunningCarrier) -> None:
    account = make_fleet(carrier, cards=10)
    before = calls_of(carrier)
    message = claimed(account)
    with poller() as one, poller() as other:
        for engine in (one, other, one):
            engine.submit(account.pk, message)
        wait_until(lambda: counts(account).finished == 10, "all cards to be settled")
    assert calls_of(carrier) - before == 20
    assert counts(account).stale_finish == 0


def test_a_card_that_takes_longer_than_one_lease_is_renewed(carrier: RunningCarrier, settings: Settings) -> None:
    settings.TIDELINE_POLLING_LEASE_SECONDS, settings.TIDELINE_POLLING_RENEW_SECONDS = 1, 0.2
    account = make_fleet(carrier, "slow", cards=2)
    with poller() as engine:
        engine.submit(account.pk, claimed(account, lease=1))
        wait_until(lambda: counts(account).finished == 2, "both cards to be settled")
    assert (counts(account).lease_expired, counts(account).stale_finish) == (0, 0)


def test_after_a_renewal_that_was_refused_no_further_step_starts(carrier: RunningCarrier, settings: Settings) -> None:
    settings.TIDELINE_POLLING_RENEW_SECONDS = 0.05
    account = make_fleet(carrier, "slow", cards=1)
    before = calls_of(carrier, "slow")
    (claim,) = claimed(account)
    with poller() as engine:
        engine.submit(account.pk, [claim])
        wait_until(lambda: calls_of(carrier, "slow") == before + 1, "the first check to be under way")
        Queue(connecting.client()).ask(calls.release(account.pk, [(claim.card_id, claim.token)]))
        wait_until(lambda: counts(account).stale_finish == 1, "the first check to end")
    assert calls_of(carrier, "slow") == before + 1
    assert CardCheck.objects.count() == 1  # what was learned is kept, for nobody knows better yet


def test_what_is_in_work_when_the_poller_stops_is_finished_or_free_again_at_once(
    carrier: RunningCarrier, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(engine_module, "GRACE_SECONDS", 0.1)
    account = make_fleet(carrier, "slow", cards=3)
    with poller() as engine:
        engine.submit(account.pk, claimed(account))
        wait_until(lambda: calls_of(carrier, "slow"), "the first check to be under way")
    assert (counts(account).running, counts(account).due) == (0, 3)


def test_cards_of_an_account_that_was_switched_off_are_given_back_unasked(carrier: RunningCarrier) -> None:
    account = make_fleet(carrier, cards=3)
    message, before = claimed(account), calls_of(carrier)
    CarrierAccount.objects.update(active=False)
    with poller() as engine:
        engine.submit(account.pk, message)
        wait_until(lambda: counts(account).running == 0, "the cards to be given back")
    assert calls_of(carrier) == before


def test_a_card_that_is_gone_is_taken_out_of_the_order_and_the_others_are_asked(carrier: RunningCarrier) -> None:
    account = make_fleet(carrier, cards=3)
    message = claimed(account)
    Card.objects.filter(pk=message[0].card_id).delete()
    with poller() as engine:
        engine.submit(account.pk, message)
        wait_until(lambda: counts(account).finished == 2, "the others to be settled")
    assert counts(account).cards == 2


# --- the account -----------------------------------------------------------------------------------------------


def test_an_account_that_throttles_is_left_in_peace_and_none_of_its_cards_has_failed(carrier: RunningCarrier) -> None:
    account = make_fleet(carrier, cards=10)
    carrier.order(Fault(kind=FaultKind.THROTTLE, account="main", retry_after=300))
    with poller() as engine:
        engine.submit(account.pk, claimed(account))
        wait_until(lambda: counts(account).finished == 10, "all cards to be settled")
    account.refresh_from_db()
    assert (account.held_class, account.hold_count) == ("throttled", 1)
    assert not CardCheck.objects.exists()
    assert counts(account).due == 10


def test_an_account_whose_credentials_cannot_be_used_is_told_once_and_no_card_has_failed(
    carrier: RunningCarrier,
) -> None:
    account = make_fleet(carrier, cards=5)
    account.credentials = "{}"
    account.save()
    with poller() as engine:
        engine.submit(account.pk, claimed(account))
        wait_until(lambda: counts(account).finished == 5, "all cards to be settled")
    alert = Alert.objects.get()
    assert (alert.kind, alert.count) == ("account_failing", 1)
    assert not CardCheck.objects.exists()


def test_no_more_calls_than_allowed_are_made_at_one_time_whatever_number_of_pollers_there_is(
    carrier: RunningCarrier,
) -> None:
    account = make_fleet(carrier, "single", cards=20, max_concurrency=1)
    claims = claimed(account)
    with poller() as one, poller() as other:
        one.submit(account.pk, claims[:10])
        other.submit(account.pk, claims[10:])
        wait_until(lambda: counts(account).finished == 20, "all cards to be settled")
    assert carrier.stats("single")["most_in_flight"] == 1
    assert CardCheck.objects.filter(failures=0).count() == 40


# --- what it survives ------------------------------------------------------------------------------------------


def once(function: Callable[..., Any], error: Exception) -> Callable[..., Any]:
    """Return a function that raises the error the first time."""
    errors = [error]

    def fails_once(*arguments: Any, **options: Any) -> Any:
        if errors:
            raise errors.pop()
        return function(*arguments, **options)

    return fails_once


def test_results_wait_for_a_database_that_is_away(carrier: RunningCarrier, monkeypatch: pytest.MonkeyPatch) -> None:
    account = make_fleet(carrier, cards=3)
    monkeypatch.setattr(settling, "settle", once(settling.settle, OperationalError("gone")))
    monkeypatch.setattr(settler, "TRY_AGAIN_SECONDS", 0.01)
    with poller() as engine:
        engine.submit(account.pk, claimed(account))
        wait_until(lambda: counts(account).finished == 3, "all cards to be settled")
    assert CardCheck.objects.count() == 6


def test_results_that_are_written_wait_for_a_redis_that_is_away(
    carrier: RunningCarrier, monkeypatch: pytest.MonkeyPatch
) -> None:
    account = make_fleet(carrier, cards=3)
    performed = AsyncQueue.perform
    failures = [RedisAway("gone")]

    async def perform(self: AsyncQueue, asked: list[calls.Call[Any]]) -> Any:
        if asked and asked[0].script == "finish" and failures:
            raise failures.pop()
        return await performed(self, asked)

    monkeypatch.setattr(AsyncQueue, "perform", perform)
    monkeypatch.setattr(settler, "TRY_AGAIN_SECONDS", 0.01)
    with poller() as engine:
        engine.submit(account.pk, claimed(account))
        wait_until(lambda: counts(account).finished == 3, "all cards to be settled")
    assert CardCheck.objects.filter(failures=0).count() == 6
    assert not failures


@pytest.mark.parametrize("error", [OperationalError("gone"), InterfaceError("closed"), RedisAway("gone")])
def test_cards_are_given_back_at_once_when_rows_or_order_cannot_be_read(
    carrier: RunningCarrier, monkeypatch: pytest.MonkeyPatch, error: Exception
) -> None:
    account = make_fleet(carrier, cards=3)
    monkeypatch.setattr(poller_module, "_read", once(poller_module._read, error))
    with poller() as engine:
        engine.submit(account.pk, claimed(account))
        wait_until(lambda: counts(account).released == 3, "the cards to be given back")
    assert (counts(account).running, counts(account).due) == (0, 3)


def test_case_11_a_batch_that_ends_with_a_fault_is_not_kept_by_renewals(
    carrier: RunningCarrier, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    account = make_fleet(carrier, cards=3)
    monkeypatch.setattr(Gateways, "to", once(Gateways.to, ZeroDivisionError("a fault")))
    with poller() as engine:
        engine.submit(account.pk, claimed(account))
        wait_until(lambda: counts(account).released == 3, "the cards to be given back")
    assert f"a batch of the account {account.pk} failed" in caplog.text


def test_case_26_a_poller_whose_loop_has_ended_gives_back_what_it_holds_and_says_that_it_cannot_go_on(
    carrier: RunningCarrier, monkeypatch: pytest.MonkeyPatch
) -> None:
    account, ended = make_fleet(carrier, "slow", cards=3), threading.Event()

    async def settle_for_ever(self: Settler) -> None:
        await self._waiting.get()
        raise ZeroDivisionError("a fault")

    monkeypatch.setattr(Settler, "settle_for_ever", settle_for_ever)
    engine = Engine([SHARED_QUEUE], failed=ended.set)
    engine.start()
    engine.submit(account.pk, claimed(account))
    assert ended.wait(60)
    engine.stop()
    assert (counts(account).running, counts(account).due) == (0, 3)
    assert capacity.of_queues(connecting.client(), [SHARED_QUEUE]) == {SHARED_QUEUE: 0}


def test_a_poller_stops_also_when_what_it_does_all_the_time_misses_that_it_is_cancelled(
    carrier: RunningCarrier, monkeypatch: pytest.MonkeyPatch
) -> None:
    missed: list[bool] = []

    async def keep(_: Leases) -> None:
        try:
            await asyncio.Event().wait()
        except asyncio.CancelledError:
            if missed:
                raise
            missed.append(True)

    monkeypatch.setattr(Leases, "keep", keep)
    with poller() as engine:
        engine.submit((account := make_fleet(carrier, cards=3)).pk, claimed(account))
        wait_until(lambda: counts(account).finished == 3, "the cards to be settled")
    assert missed
    assert capacity.of_queues(connecting.client(), [SHARED_QUEUE]) == {SHARED_QUEUE: 0}


def test_an_account_that_redis_refuses_keeps_none_of_the_others_from_being_finished(
    carrier: RunningCarrier, monkeypatch: pytest.MonkeyPatch
) -> None:
    broken, fine = make_fleet(carrier, cards=2), make_fleet(carrier, "slow", cards=2)
    with poller() as engine:
        engine.submit(broken.pk, claimed(broken))
        connecting.client().set(key_of(broken.pk, "cards"), "no hash")
        engine.submit(fine.pk, claimed(fine))
        wait_until(lambda: counts(fine).finished == 2, "the other account to be settled")
    assert CardCheck.objects.filter(card__account=broken, failures=0).count() == 4


def test_what_no_column_can_hold_is_the_failure_of_its_card_alone(
    carrier: RunningCarrier, monkeypatch: pytest.MonkeyPatch
) -> None:
    account = make_fleet(carrier, cards=3)
    message = claimed(account)
    odd, settle = message[1].card_id, settling.settle

    def refuses(polled: list[Polled], **options: Any) -> Settled:
        if any(one.claim.card_id == odd and one.asked[0].reading is not None for one in polled):
            raise DataError("no column holds that")
        return settle(polled, **options)

    monkeypatch.setattr(settling, "settle", refuses)
    with poller() as engine:
        engine.submit(account.pk, message)
        wait_until(lambda: counts(account).finished == 3, "all cards to be settled")
    failed = CardCheck.objects.filter(failures=1).values_list("card", "error_class")
    assert set(failed) == {(odd, "malformed")}
    assert CardCheck.objects.filter(failures=0).count() == 4

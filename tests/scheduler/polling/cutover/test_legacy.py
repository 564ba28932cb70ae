"""The simple way, on a real Redis, real rows and a carrier over HTTP: what is due is taken once, and none is lost."""

from collections.abc import Iterator
from datetime import timedelta

import pytest
from pytest_django import Settings
from redis import Redis

from project.kit.clock import database_now
from scheduler.polling.carriers.simulator import AccountPlan, Fault, FaultKind, RunningCarrier, simulated_carrier
from scheduler.polling.cutover import legacy, legacy_side, sets
from scheduler.polling.cutover.callers import Caller
from scheduler.polling.cutover.sets import Taken
from scheduler.polling.models import Card, CardCheck
from scheduler.polling.queue import Card as Entry
from scheduler.polling.queue import Queue, Requested, calls
from scheduler.polling.states import CheckType
from tests.scheduler.polling.factories import make_tier
from tests.scheduler.polling.fleets import STATUS, USAGE, make_fleet

pytestmark = pytest.mark.django_db(transaction=True)

MOST = 100
ALWAYS, MINUTE, NONE = timedelta(seconds=1), timedelta(minutes=1), timedelta(0)


@pytest.fixture(scope="module")
def running() -> Iterator[RunningCarrier]:
    with simulated_carrier(AccountPlan(latency=0)) as carrier:
        yield carrier


@pytest.fixture
def carrier(running: RunningCarrier, settings: Settings) -> Iterator[RunningCarrier]:
    settings.TIDELINE_ALLOWED_HOSTS_INWARD = [running.place]
    settings.TIDELINE_POLLING_LEASE_SECONDS = 60
    make_tier(usage_seconds=3600, card_status_seconds=3600)
    yield running
    running.clear_faults()


@pytest.fixture
def caller() -> Iterator[Caller]:
    caller = Caller()
    yield caller
    caller.close()


@pytest.fixture
def card(carrier: RunningCarrier) -> Card:
    card: Card = make_fleet(carrier).cards.get()
    return card


def put(
    redis: Redis,
    card_id: int,
    *,
    ago: timedelta = ALWAYS,
    ready: bool = True,
) -> None:
    """Let status and usage be due."""
    if ready:
        redis.set(sets.READY, "test")
    sets.put(redis, [Entry(card_id, dict.fromkeys((STATUS, USAGE), database_now() - ago), {})])


def check_usage(redis: Redis, card: Card, caller: Caller) -> None:
    """Let the usage be due, and make its check."""
    put(redis, card.pk)
    for taken in sets.take_due(redis, MOST):
        if taken.type == USAGE:
            legacy.check(redis, taken, caller)


def ask(redis: Redis, *card_ids: int, cooldown: timedelta = NONE) -> list[Requested]:
    """Ask for the usage of cards."""
    return sets.request(redis, card_ids, [USAGE], "scene", cooldown, NONE)


def taken_types(redis: Redis) -> list[str]:
    return sorted(each.type for each in sets.take_due(redis, MOST))


# --- what is due -----------------------------------------------------------------------------------------------


def test_each_due_check_is_taken_once_from_whatever_shard_its_card_is_in(
    redis: Redis,
) -> None:
    for card_id in range(1, 12):
        put(redis, card_id)
    taken = sets.take_due(redis, MOST)
    assert sorted((each.card_id, each.type) for each in taken) == sorted(
        (card_id, check) for card_id in range(1, 12) for check in (STATUS, USAGE)
    )
    assert sets.take_due(redis, MOST) == []


def test_what_is_not_due_yet_or_no_more_is_not_taken(redis: Redis) -> None:
    put(redis, 1, ago=-timedelta(hours=1))
    put(redis, 2)
    sets.put(redis, [Entry(2, {STATUS: database_now() - ALWAYS}, {})])
    assert taken_types(redis) == [STATUS]


def test_what_was_taken_and_lost_is_taken_again_after_its_lease_and_with_a_higher_token(
    redis: Redis,
    settings: Settings,
) -> None:
    settings.TIDELINE_POLLING_LEASE_SECONDS = 0
    put(redis, 1)
    first, again = (sets.take_due(redis, MOST)[0] for _ in range(2))
    assert (again.card_id, again.type) == (first.card_id, first.type)
    assert again.token > first.token


# --- one check -------------------------------------------------------------------------------------------------


def test_a_check_is_made_and_written_and_due_after_its_interval(
    redis: Redis,
    card: Card,
    caller: Caller,
) -> None:
    put(redis, card.pk)
    for taken in sets.take_due(redis, MOST):
        legacy.check(redis, taken, caller)
    checks = CardCheck.objects.filter(card=card, failures=0, succeeded_at__isnull=False)
    assert {row.type for row in checks} == {STATUS, USAGE}
    card.refresh_from_db()
    assert (card.state, card.used_bytes is not None) == ("active", True)
    due = {redis.zscore(sets.key(CheckType(row.type), card.pk), card.pk) for row in checks}
    assert due == {int(row.due_at.timestamp() * 1000) for row in checks if row.due_at}


def test_a_failure_is_counted_and_the_next_success_clears_it(
    redis: Redis,
    carrier: RunningCarrier,
    card: Card,
    caller: Caller,
) -> None:
    carrier.order(Fault(kind=FaultKind.SERVER))
    for failures in (1, 2):
        check_usage(redis, card, caller)
        assert CardCheck.objects.get(card=card).failures == failures
    carrier.clear_faults()
    check_usage(redis, card, caller)
    assert CardCheck.objects.get(card=card).failures == 0


def test_a_message_that_is_late_or_doubled_ends_by_itself(
    redis: Redis,
    card: Card,
    caller: Caller,
    carrier: RunningCarrier,
) -> None:
    check_usage(redis, card, caller)
    before, written = carrier.stats()["calls"], CardCheck.objects.get(card=card)
    put(redis, card.pk)
    (late,) = (each for each in sets.take_due(redis, MOST) if each.type == USAGE)
    legacy.check(redis, Taken(card.pk, USAGE, late.token - 5000), caller)
    assert carrier.stats()["calls"] == before
    legacy.check(redis, late, caller)
    legacy.check(redis, late, caller)
    assert carrier.stats()["calls"]["usage"] == before["usage"] + 1
    assert CardCheck.objects.get(card=card).token > written.token


def test_two_messages_never_work_on_one_card_at_once_and_the_second_is_made_soon(redis: Redis) -> None:
    put(redis, 1)
    status, usage = sorted(sets.take_due(redis, MOST), key=lambda each: each.type)
    until = sets.begin(redis, status, MINUTE)
    assert until
    assert not sets.begin(redis, usage, MINUTE)
    assert sets.due(redis, [1])[1][USAGE] < database_now() + MINUTE / 10
    sets.end(redis, status, until, {STATUS: database_now() + MINUTE})
    assert sets.at_work(redis) == 0


def test_a_check_whose_work_stood_still_beyond_its_lease_does_not_end_that_of_another(
    redis: Redis,
) -> None:
    put(redis, 1)
    status, usage = sorted(sets.take_due(redis, MOST), key=lambda each: each.type)
    stood_still = sets.begin(redis, status, timedelta(0))
    assert sets.begin(redis, usage, MINUTE)
    sets.end(redis, status, stood_still, {})
    assert sets.at_work(redis) == 1


def test_what_is_asked_for_while_the_card_is_worked_on_is_made_once_more(
    redis: Redis,
) -> None:
    put(redis, 1)
    (usage,) = (each for each in sets.take_due(redis, MOST) if each.type == USAGE)
    until = sets.begin(redis, usage, MINUTE)
    assert ask(redis, 1) == [Requested.AFTER_THIS_RUN]
    sets.end(redis, usage, until, {USAGE: database_now() + MINUTE})
    assert taken_types(redis) == [USAGE]


def test_requests_are_merged_and_cool_down_and_are_refused_for_cards_that_are_not_there(
    redis: Redis,
) -> None:
    put(redis, 1, ago=-MINUTE)
    assert ask(redis, 1, 2, cooldown=MINUTE) == [Requested.ASKED, Requested.UNKNOWN]
    assert ask(redis, 1, cooldown=MINUTE) == [Requested.COOLING]
    assert ask(redis, 1) == [Requested.MERGED]
    assert taken_types(redis) == [USAGE]


def test_a_card_that_is_being_stopped_or_resumed_is_asked_later(
    redis: Redis, card: Card, caller: Caller, carrier: RunningCarrier
) -> None:
    (token,) = Queue(redis).ask(calls.take(card.account_id, [card.pk], MINUTE))
    before = carrier.stats()["calls"]
    check_usage(redis, card, caller)
    assert carrier.stats()["calls"] == before
    assert database_now() < sets.due(redis, [card.pk])[card.pk][USAGE] < database_now() + MINUTE
    Queue(redis).ask(calls.release(card.account_id, [(card.pk, token)]))
    check_usage(redis, card, caller)
    assert carrier.stats()["calls"] != before
    assert Queue(redis).ask(calls.take(card.account_id, [card.pk], MINUTE)) != [0]


def test_nothing_is_taken_or_begun_while_cards_are_missing(redis: Redis) -> None:
    put(redis, 1)
    taken = sets.take_due(redis, MOST)
    legacy_side.close(redis)
    assert not any(sets.begin(redis, each, MINUTE) for each in taken)
    put(redis, 2, ready=False)
    assert sets.take_due(redis, MOST) == []


def test_a_card_that_is_polled_no_more_is_taken_out(
    redis: Redis,
    card: Card,
    caller: Caller,
    carrier: RunningCarrier,
) -> None:
    before = carrier.stats()["calls"]
    put(redis, card.pk)
    Card.objects.update(polling_enabled=False)
    for taken in sets.take_due(redis, MOST):
        legacy.check(redis, taken, caller)
    assert carrier.stats()["calls"] == before
    assert sets.due(redis, [card.pk]) == {card.pk: {}}
    assert sets.cards(redis) == set()

"""The simple way, on a real Redis, real rows and a carrier over HTTP: what is due is taken once, and none is lost."""

from collections.abc import Iterator
from datetime import timedelta

import pytest
from pytest_django import Settings
from redis import Redis

from project.kit.clock import database_now
from scheduler.polling.carriers.simulator import AccountPlan, Fault, FaultKind, RunningCarrier, simulated_carrier
from scheduler.polling.cutover import legacy
from scheduler.polling.cutover.callers import Caller
from scheduler.polling.cutover.legacy import Taken
from scheduler.polling.models import Card, CardCheck
from scheduler.polling.queue.entries import Card as Entry
from tests.scheduler.polling.factories import make_tier
from tests.scheduler.polling.fleet.conftest import redis  # noqa: F401 - a fixture
from tests.scheduler.polling.fleets import STATUS, USAGE, make_fleet

pytestmark = pytest.mark.django_db(transaction=True)

MOST = 100
ALWAYS = timedelta(seconds=1)


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


def put(redis: Redis, card_id: int, *, ago: timedelta = ALWAYS) -> None:  # noqa: F811 - not the fixture
    """Let status and usage be due."""
    legacy.put(redis, [Entry(card_id, dict.fromkeys((STATUS, USAGE), database_now() - ago), {})])


def taken_types(redis: Redis) -> list[str]:  # noqa: F811 - not the fixture
    return sorted(each.type for each in legacy.take_due(redis, MOST))


# --- what is due -----------------------------------------------------------------------------------------------


def test_each_due_check_is_taken_once_from_whatever_shard_its_card_is_in(
    redis: Redis,  # noqa: F811 - the fixture
) -> None:
    for card_id in range(1, 12):
        put(redis, card_id)
    taken = legacy.take_due(redis, MOST)
    assert sorted((each.card_id, each.type) for each in taken) == sorted(
        (card_id, check) for card_id in range(1, 12) for check in (STATUS, USAGE)
    )
    assert legacy.take_due(redis, MOST) == []


def test_what_is_not_due_yet_or_no_more_is_not_taken(redis: Redis) -> None:  # noqa: F811 - the fixture
    put(redis, 1, ago=-timedelta(hours=1))
    put(redis, 2)
    legacy.put(redis, [Entry(2, {STATUS: database_now() - ALWAYS}, {})])
    assert taken_types(redis) == [STATUS]


def test_what_was_taken_and_lost_is_taken_again_after_its_lease_and_with_a_higher_token(
    redis: Redis,  # noqa: F811 - the fixture
    settings: Settings,
) -> None:
    settings.TIDELINE_POLLING_LEASE_SECONDS = 0
    put(redis, 1)
    first, again = (legacy.take_due(redis, MOST)[0] for _ in range(2))
    assert (again.card_id, again.type) == (first.card_id, first.type)
    assert again.token > first.token


# --- one check -------------------------------------------------------------------------------------------------


def test_a_check_is_made_and_written_and_due_after_its_interval(
    redis: Redis,  # noqa: F811 - the fixture
    card: Card,
    caller: Caller,
) -> None:
    put(redis, card.pk)
    for taken in legacy.take_due(redis, MOST):
        legacy.check(redis, taken, caller)
    checks = CardCheck.objects.filter(card=card, failures=0, succeeded_at__isnull=False)
    assert {row.type for row in checks} == {STATUS, USAGE}
    card.refresh_from_db()
    assert (card.state, card.used_bytes is not None) == ("active", True)
    due = {redis.zscore(f"tideline:polling:legacy:{row.type}:{card.pk % legacy.SHARDS}", card.pk) for row in checks}
    assert due == {int(row.due_at.timestamp() * 1000) for row in checks if row.due_at}


def test_a_failure_is_counted_and_the_next_success_clears_it(
    redis: Redis,  # noqa: F811 - the fixture
    carrier: RunningCarrier,
    card: Card,
    caller: Caller,
) -> None:
    put(redis, card.pk)
    taken = next(each for each in legacy.take_due(redis, MOST) if each.type == USAGE)
    carrier.order(Fault(kind=FaultKind.SERVER))
    for more in range(2):
        legacy.check(redis, Taken(taken.card_id, USAGE, taken.token + more), caller)
    assert CardCheck.objects.get(card=card).failures == 2
    carrier.clear_faults()
    legacy.check(redis, Taken(taken.card_id, USAGE, taken.token + 2), caller)
    assert CardCheck.objects.get(card=card).failures == 0


def test_a_late_message_never_overwrites_what_a_later_one_has_written(
    redis: Redis,  # noqa: F811 - the fixture
    card: Card,
    caller: Caller,
) -> None:
    legacy.check(redis, Taken(card.pk, USAGE, 1000), caller)
    written = CardCheck.objects.get(card=card)
    legacy.check(redis, Taken(card.pk, USAGE, 999), caller)
    assert CardCheck.objects.get(card=card).checked_at == written.checked_at


def test_a_card_that_is_polled_no_more_is_taken_out(
    redis: Redis,  # noqa: F811 - the fixture
    card: Card,
    caller: Caller,
    carrier: RunningCarrier,
) -> None:
    before = carrier.stats()["calls"]
    put(redis, card.pk)
    Card.objects.update(polling_enabled=False)
    for taken in legacy.take_due(redis, MOST):
        legacy.check(redis, taken, caller)
    assert carrier.stats()["calls"] == before
    assert list(redis.scan_iter("tideline:polling:legacy:*")) == []

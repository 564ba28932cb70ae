"""Messages only hint: they are lost, doubled, late or stuck in a queue, and each run is still executed once."""

import json
from collections.abc import Iterator
from datetime import timedelta

import pytest
import redis
from django.conf import settings

from project.kit.clock import database_now
from scheduler import launching, operations
from scheduler.launching import LAUNCH_LEASE
from scheduler.models import TaskRun
from scheduler.states import RunState
from tests.faults.house import House

HINTS = "tideline:runs"


@pytest.fixture
def queue() -> Iterator[redis.Redis]:
    """The broker of the test process, with no hints in it."""
    client = redis.Redis.from_url(settings.REDIS_URL)
    client.delete(HINTS)
    client.set("tideline:not-emptied", "by an earlier test")
    yield client
    client.delete(HINTS)
    client.close()


@pytest.mark.django_db
def test_a_hint_that_waits_in_the_queue_for_longer_than_its_lease_is_not_sent_again(queue: redis.Redis) -> None:
    now = database_now()
    waiting = operations.run_job("test.one", {}, now=now, actor="the test")
    assert launching.launch_due(now=now).runs == 1

    later = now + 10 * LAUNCH_LEASE
    assert launching.launch_due(now=later).runs == 0

    waiting.refresh_from_db()
    assert (waiting.lease_token, queue.llen(HINTS)) == (1, 1)


@pytest.mark.django_db
def test_a_hint_that_was_lost_is_replaced_when_its_lease_ends_and_not_before(queue: redis.Redis) -> None:
    now = database_now()
    lost = operations.run_job("test.one", {}, now=now, actor="the test")
    launching.launch_due(now=now)
    queue.delete(HINTS)

    assert launching.launch_due(now=now + LAUNCH_LEASE).runs == 0
    assert launching.launch_due(now=now + LAUNCH_LEASE + timedelta(seconds=1)).runs == 1

    lost.refresh_from_db()
    assert (lost.lease_token, queue.llen(HINTS)) == (2, 1)


@pytest.mark.django_db
def test_a_lost_hint_is_replaced_while_a_younger_one_waits(queue: redis.Redis) -> None:
    now = database_now()
    lost = operations.run_job("test.items", {}, now=now, actor="the test")
    launching.launch_due(now=now)
    queue.delete(HINTS)
    a_second_later = now + timedelta(seconds=1)
    waiting = operations.run_job("test.items", {}, now=a_second_later, actor="the test")
    launching.launch_due(now=a_second_later)

    launching.launch_due(now=now + 10 * LAUNCH_LEASE)

    for run, token in ((lost, 2), (waiting, 1)):
        run.refresh_from_db()
        assert run.lease_token == token


@pytest.mark.django_db
def test_all_hints_of_a_broker_that_was_emptied_are_replaced_at_the_next_scan(queue: redis.Redis) -> None:
    now = database_now()
    lost = operations.run_job("test.items", {}, now=now, actor="the test")
    launching.launch_due(now=now)
    queue.flushdb()

    a_second_later = now + timedelta(seconds=1)
    assert launching.launch_due(now=a_second_later).runs == 1
    assert launching.launch_due(now=a_second_later).runs == 0

    lost.refresh_from_db()
    assert (lost.lease_token, queue.llen(HINTS)) == (2, 1)


@pytest.mark.slow
def test_hints_that_are_doubled_late_or_dropped_execute_each_run_once(house: House) -> None:
    house.scanners()
    doubled, dropped, late = runs = [house.open(items=3, seconds=0.2) for _ in range(3)]
    broker = redis.Redis.from_url(house.broker.url)
    house.processes.wait_until(lambda: broker.llen(HINTS) == len(runs), what="the hints")
    hint_of = {run_of(hint): hint for hint in broker.lrange(HINTS, 0, -1)}

    broker.delete(HINTS)
    broker.lpush(HINTS, *[hint_of[doubled.pk]] * 5)
    house.runner()
    house.wait_for(RunState.DONE, *runs)
    broker.lpush(HINTS, hint_of[late.pk], hint_of[doubled.pk])
    house.processes.wait_until(lambda: broker.llen(HINTS) == 0, what="the late hints to be taken")
    house.wait_for(RunState.DONE, house.open("test.one"))

    for run in runs:
        assert house.items(run) == [1, 2, 3]
        assert house.outcomes(run) == ["done"]
    assert TaskRun.objects.get(pk=dropped.pk).lease_token == 2


def run_of(hint: bytes) -> int:
    """Return the run that a hint is for."""
    envelope = json.loads(hint)
    assert envelope["headers"]["task"] == "scheduler.run"
    return int(envelope["headers"]["argsrepr"].removeprefix("#"))

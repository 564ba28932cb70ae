"""What workers count of themselves, and how /metrics tells of it."""

from collections.abc import Iterator

import pytest
from pytest_django import Settings
from redis import Redis, RedisError

from project import tallying
from project.celery import app
from project.metrics import workers
from project.models import ScanMark
from project.tallying import NAMES, Tally, key_of
from scheduler.polling import connecting
from tests.processes import Processes
from tests.project.metrics.scraping import Scraped

RUNNER, POLLER = "runner@one", "poller@two"


@pytest.fixture(autouse=True)
def redis() -> Iterator[Redis]:
    """The client that the product uses; no worker is known before and after the test."""
    client = connecting.client()
    _forget(client)
    yield client
    _forget(client)


def _forget(client: Redis) -> None:
    client.delete(NAMES, *client.scan_iter(key_of("*"), count=1000))


@pytest.fixture
def tally() -> Tally:
    tally = Tally(RUNNER)
    tally.tell_of_the_process()
    return tally


@pytest.mark.django_db
def test_what_several_processes_of_a_worker_count_is_told_together(tally: Tally, settings: Settings) -> None:
    child = Tally(RUNNER)
    for one, outcome, seconds in ((tally, "done", 0.25), (child, "done", 0.5), (child, "failed", 1.0)):
        one.note("scheduler.run", outcome, seconds)
        one.tell()
    scraped = Scraped(settings)
    by = {"worker": RUNNER, "task": "scheduler.run"}
    assert scraped("tideline_worker_tasks_total", outcome="done", **by) == 2
    assert scraped("tideline_worker_tasks_total", outcome="failed", **by) == 1
    assert scraped("tideline_worker_task_seconds_total", **by) == 1.75


@pytest.mark.django_db
def test_nothing_is_told_twice(tally: Tally, settings: Settings) -> None:
    tally.note("scheduler.run", "done", 1.0)
    tally.tell()
    tally.tell()
    by = {"worker": RUNNER, "task": "scheduler.run"}
    assert Scraped(settings)("tideline_worker_tasks_total", outcome="done", **by) == 1


@pytest.mark.django_db
def test_a_worker_tells_how_it_is(tally: Tally, settings: Settings) -> None:
    scraped = Scraped(settings)
    assert (scraped("tideline_worker_processes", worker=RUNNER) or 0) >= 1
    assert (scraped("tideline_worker_memory_bytes", worker=RUNNER) or 0) > 1_000_000
    assert scraped("tideline_worker_uptime_seconds", worker=RUNNER) is not None


@pytest.mark.django_db
def test_a_worker_that_is_gone_is_forgotten(tally: Tally, settings: Settings, redis: Redis) -> None:
    assert 0 < redis.ttl(key_of(RUNNER)) <= tallying.FORGOTTEN_AFTER_SECONDS
    redis.delete(key_of(RUNNER))  # its time is over
    assert Scraped(settings).series("tideline_worker_uptime_seconds") == []
    assert redis.smembers(NAMES) == set()


@pytest.mark.django_db
def test_no_more_workers_are_shown_than_are_allowed(
    tally: Tally, settings: Settings, monkeypatch: pytest.MonkeyPatch
) -> None:
    Tally(POLLER).tell_of_the_process()
    monkeypatch.setattr(workers, "MOST_SHOWN", 1)
    scraped = Scraped(settings)
    assert scraped("tideline_more_than_shown", of="workers") == 1
    assert [labels for labels, _ in scraped.series("tideline_worker_processes")] == [{"worker": POLLER}]


def test_without_redis_a_worker_goes_on(tally: Tally, monkeypatch: pytest.MonkeyPatch) -> None:
    def away(*_: object, **__: object) -> None:
        raise RedisError

    tally.note("scheduler.run", "done", 1.0)
    monkeypatch.setattr("redis.client.Pipeline.execute", away)
    tally.tell()
    tally.tell_of_the_process()


def test_a_name_with_colons_is_told_whole(tally: Tally, redis: Redis) -> None:
    tally.note("shop:orders:mail", "done", 1.0)
    tally.tell()
    told = {(figure.metric.name, figure.labels) for figure in workers.figures(redis)}
    assert ("tideline_worker_tasks_total", (RUNNER, "shop:orders:mail", "done")) in told
    assert ("tideline_worker_task_seconds_total", (RUNNER, "shop:orders:mail")) in told


@pytest.mark.slow
def test_a_real_worker_counts_its_tasks_in_its_children(processes: Processes, redis: Redis) -> None:
    started = processes.start("worker")
    processes.wait_until(lambda: redis.smembers(NAMES), what="the worker is known")
    (name,) = (name.decode() for name in redis.smembers(NAMES))
    app.send_task("scheduler.all_clear")
    done = ScanMark.objects.filter(name="all clear", beat_count=1)
    processes.wait_until(done.exists, what="the task is done")
    started.terminate()
    field = "tasks:done:scheduler.all_clear"
    processes.wait_until(lambda: redis.hexists(key_of(name), field), what="the task is counted")

"""Redis is emptied, restarted, hung, full or cut off: rows stay due, and nothing is lost or done twice."""

import os
import signal
import time
from collections.abc import Iterator
from typing import Any
from urllib.parse import urlsplit

import pytest
import redis
from celery import Celery
from django.contrib.auth import get_user_model
from django.test import Client
from django.urls import reverse

from project.models import ScanMark
from project.services import Redis
from scheduler.models import Schedule, TaskRun
from scheduler.states import RunState
from tests.faults.house import CONTAINER_GRACE_SECONDS, House
from tests.faults.proxy import Proxy

pytestmark = pytest.mark.slow

WORKERS = 2  # that answer to remote control: one scans, one runs
ALL_TEN = list(range(1, 11))
MANY = 20  # refusals of a full Redis, over several rounds of scans


@pytest.fixture
def proxied(redis_server: Redis) -> Iterator[Proxy]:
    """A proxy before the test's Redis."""
    proxy = Proxy(redis_server.port)
    yield proxy
    proxy.end()


def test_redis_emptied_while_runs_wait_and_run_loses_and_doubles_nothing(house: House) -> None:
    house.scanners()
    house.runner(TIDELINE_RUNNERS="1")
    runs = [house.open(seconds=0.2), house.open(), house.open()]
    working = runs[0]
    house.wait_for_item(working, 3)

    redis.Redis.from_url(house.broker.url).flushall()

    house.wait_for(RunState.DONE, *runs, seconds=45)
    each_done_once(house, runs)


def test_redis_killed_and_restarted_empty_loses_and_doubles_nothing(house: House) -> None:
    house.scanners()
    house.runner(TIDELINE_RUNNERS="1")
    working, waiting = house.open(seconds=0.4), house.open()
    house.wait_for_item(working, 3)

    kill(house.broker)
    opened_meanwhile = house.open()
    house.processes.wait_until(broker_is_said_to_be_unreachable, what="the scan to say so")
    house.wait_for(RunState.DONE, working)
    house.broker.launch()

    runs = [working, waiting, opened_meanwhile]
    house.wait_for(RunState.DONE, *runs, seconds=45)
    each_done_once(house, runs)


def test_a_hung_redis_delays_no_person_and_leaves_rows_due_and_a_job_at_work(house: House) -> None:
    house.scanners()
    house.runner()
    working = house.open(seconds=0.4)
    house.wait_for_item(working, 2)

    hang(house.broker)
    waiting = run_now_in_the_admin(house.every(3600, "test.items", items=10))
    house.processes.wait_until(broker_is_said_to_be_unreachable, what="the scan to say so")
    house.wait_for(RunState.DONE, working)
    waiting.refresh_from_db()
    assert (waiting.state, waiting.attempt_count) == (RunState.PENDING, 0)
    go_on(house.broker)

    house.wait_for(RunState.DONE, waiting, seconds=45)
    each_done_once(house, [working, waiting])


def test_a_full_redis_that_ends_the_workers_loses_nothing(house: House) -> None:
    house.supervise("worker", "beat", "runner")
    house.wait_for(RunState.DONE, house.open("test.one"))

    broker = redis.Redis.from_url(house.broker.url)
    broker.config_set("maxmemory", 1)
    runs = [house.open() for _ in range(3)]
    house.wait_until(lambda: refusals(broker) >= MANY, what="Redis to have refused scans, hints and acknowledgements")
    broker.config_set("maxmemory", 0)

    house.wait_for(RunState.DONE, *runs, seconds=60)
    each_done_once(house, runs)


def refusals(broker: redis.Redis) -> int:
    """Return how many commands Redis has refused because it is full."""
    return int(broker.info("errorstats").get("errorstat_OOM", {"count": 0})["count"])


def test_connections_that_are_cut_again_and_again_and_consumers_that_change_leave_a_runner_that_listens(
    house: House, proxied: Proxy
) -> None:
    house.scanners()
    runner = house.runner(REDIS_URL=through(proxied, house.broker.url))
    house.wait_for(RunState.DONE, house.open("test.one"))

    runs = [house.open(items=2, seconds=0.1) for _ in range(20)]
    for _ in range(3):
        control(house, "cancel_consumer", queue="runs")
        control(house, "add_consumer", queue="runs")
        proxied.cut()

    house.wait_for(RunState.DONE, *runs)
    for run in runs:
        assert house.outcomes(run) == ["done"]
    assert runner.runs()
    house.wait_until(lambda: listening(house) == ["runs"], 60, "the runner answers again")


def test_a_connection_that_swallows_everything_is_noticed_and_replaced(house: House, proxied: Proxy) -> None:
    house.scanners()
    runner = house.runner(REDIS_URL=through(proxied, house.broker.url))
    house.wait_for(RunState.DONE, house.open("test.one"))

    proxied.silence()
    assert listening(house) == []
    proxied.speak()

    house.wait_until(lambda: listening(house) == ["runs"], 60, "remote control to work again")
    run = house.open()
    house.wait_for(RunState.DONE, run)
    each_done_once(house, [run])
    assert runner.runs()


def test_a_lock_that_a_killed_worker_left_in_redis_stops_nothing(house: House) -> None:
    house.scanners()
    runner = house.runner()
    run = house.open(hold_at=5)
    house.wait_until_holds(run)

    redis.Redis.from_url(house.broker.url).set("tideline:unacked_mutex", "left for ever")
    runner.kill9()
    house.runner()

    house.wait_for(RunState.DONE, run)
    assert house.items(run) == ALL_TEN


def test_processes_that_are_asked_to_stop_while_redis_is_gone_end_within_the_grace_period(house: House) -> None:
    house.scanners()
    house.runner()
    run = house.open(seconds=2)
    house.wait_for_item(run, 1)
    kill(house.broker)
    house.processes.wait_until(broker_is_said_to_be_unreachable, what="the scan to say so")

    asked = time.monotonic()
    for process in house.processes.started:
        process.terminate()
    for process in house.processes.started:
        process.wait()
    assert time.monotonic() - asked < CONTAINER_GRACE_SECONDS

    run.refresh_from_db()
    assert run.state == RunState.PENDING
    assert house.outcomes(run) == ["handed_back"]


def run_now_in_the_admin(schedule: Schedule) -> TaskRun:
    """Press "run now" on the schedule's page and return the run that it opened."""
    client = Client()
    client.force_login(get_user_model().objects.create_superuser("admin"))
    address = reverse("admin:scheduler_schedule_action", args=[schedule.pk, "run-now"])
    response = client.post(address, {"seen": schedule.version, "reason": ""})
    assert response.status_code == 302
    return TaskRun.objects.get(schedule=schedule)


def each_done_once(house: House, runs: list[TaskRun]) -> None:
    """Assert that each run was executed once and took each item once."""
    for run in runs:
        assert house.outcomes(run) == ["done"]
        assert house.items(run) == ALL_TEN


def broker_is_said_to_be_unreachable() -> bool:
    """Return whether the rows say that the broker cannot be reached."""
    return ScanMark.objects.filter(note__startswith="Broker unreachable").exists()


def kill(server: Redis) -> None:
    """Kill the server; it forgets everything."""
    assert server.process is not None
    server.process.kill()
    server.process.wait()


def hang(server: Redis) -> None:
    """Stop the server in its tracks: connections stay open, and nobody answers."""
    assert server.process is not None
    os.kill(server.process.pid, signal.SIGSTOP)


def go_on(server: Redis) -> None:
    """Let a hung server go on."""
    assert server.process is not None
    os.kill(server.process.pid, signal.SIGCONT)


def through(proxy: Proxy, url: str) -> str:
    """Return the server's address by way of the proxy."""
    return url.replace(f":{urlsplit(url).port}/", f":{proxy.port}/")


def control(house: House, command: str, **arguments: Any) -> list[dict[str, Any]]:
    """Send a remote control command to the workers, and return the answers of the runners."""
    with Celery(broker=house.broker.url, set_as_current=False) as celery:
        celery.conf.broker_transport_options = {"global_keyprefix": "tideline:"}
        replies = celery.control.broadcast(command, arguments=arguments, reply=True, timeout=2, limit=WORKERS)
    return [answer for reply in replies for name, answer in reply.items() if name.startswith("runner@")]


def listening(house: House) -> list[str]:
    """Return the queues to which the runner listens."""
    return [queue["name"] for queues in control(house, "active_queues") for queue in queues]

"""A schedule fails and is well again, under real processes: whoever listens is told of both, each once and signed."""

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from pytest_django import Settings

from alerts import defining
from alerts.models import Alert, Channel
from alerts.states import AlertState
from project.inbox import is_signed
from project.kit.clock import database_now
from project.services import Redis
from scheduler.models import TaskRun
from scheduler.states import RunState
from tests.faults.house import House
from tests.kit.outbound.receivers import Receiver, answer, ok, receiver
from tests.processes import Processes

pytestmark = [pytest.mark.slow, pytest.mark.timeout(240)]

SECRET = "whsec_" + "QUFB" * 8
# Between the failure and its message, and between the first run that is done and its own: the scans take 1 and 10 s.
TOLD_WITHIN_SECONDS = 60


@pytest.fixture
def house(processes: Processes, redis_server: Redis, tmp_path: Path) -> House:
    return House(processes, redis_server, tmp_path)


@pytest.fixture
def heard() -> list[bytes]:
    """The requests that the receiver was sent."""
    return []


@pytest.fixture
def listener(heard: list[bytes], settings: Settings) -> Iterator[Receiver]:
    """A receiver, which may be called though it is on this machine."""
    with receiver(answer(ok(), heard=heard)) as running:
        settings.TIDELINE_ALLOWED_HOSTS_INWARD = [f"127.0.0.1:{running.port}"]
        yield running


def test_a_schedule_that_fails_is_told_of_and_told_of_again_when_a_later_run_is_done(
    house: House, listener: Receiver, heard: list[bytes], tmp_path: Path
) -> None:
    make_channel(f"http://127.0.0.1:{listener.port}/hook")
    remedy = tmp_path / "remedy"
    schedule = house.every(2, "command", command=f"test -e {remedy}", name="fetches")
    house.environ |= {"TIDELINE_ALLOWED_HOSTS_INWARD": f"127.0.0.1:{listener.port}"}
    house.scanners()
    house.start("runner", "notifier")

    house.wait_until(lambda: len(heard) >= 1, TOLD_WITHIN_SECONDS, "the failure to be told")
    remedy.touch()
    house.wait_until(lambda: len(heard) >= 2, TOLD_WITHIN_SECONDS, "the recovery to be told")

    opened, recovered = map(message_in, heard)
    assert (opened["type"], opened["data"]["kind"]) == ("alert.opened", "run_failed")
    assert opened["data"]["title"] in {str(run) for run in TaskRun.objects.filter(state=RunState.FAILED)}
    assert (recovered["type"], recovered["data"]["title"]) == ("alert.recovered", opened["data"]["title"])
    alert = Alert.objects.get(subject=f"schedule:{schedule.pk}")
    assert alert.state == AlertState.RESOLVED
    assert TaskRun.objects.filter(schedule=schedule, state=RunState.DONE).exists()


def make_channel(address: str) -> Channel:
    return defining.create(
        name="the test", address=address, format="generic", secrets=SECRET, least_severity="info", now=database_now()
    )


def message_in(request: bytes) -> dict[str, Any]:
    """Return the message of a request that was rightly signed."""
    head, _, body = request.partition(b"\r\n\r\n")
    lines = (line.decode().partition(":") for line in head.split(b"\r\n")[1:])
    headers = {name.lower(): value.strip() for name, _, value in lines}
    assert is_signed(headers, body, SECRET, now=database_now())
    message: dict[str, Any] = json.loads(body)
    return message

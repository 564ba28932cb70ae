"""What the try-out shows works as its descriptions say, and its channel follows the inbox."""

from collections.abc import Iterator
from types import ModuleType

import pytest
from pytest_django import Settings

from alerts.models import Channel
from alerts.states import Severity
from project.kit.clock import database_now
from project.kit.secrets import Secret
from quotas import charging
from quotas.models import Quota
from scheduler import launching, operations, recovering
from scheduler.executing import execute
from scheduler.identity import SharedSignals, ThisWorker
from scheduler.jobs.registry import JOBS
from scheduler.models import Schedule, TaskRun
from scheduler.states import RunState

pytestmark = pytest.mark.django_db

WORKER = ThisWorker("host:1:1:boot", SharedSignals())


@pytest.fixture(scope="module")
def demonstration() -> Iterator[ModuleType]:
    """The module, whose jobs are not left behind for other tests."""
    before = dict(JOBS)
    from project import demonstration

    yield demonstration
    JOBS.clear()
    JOBS.update(before)


@pytest.fixture
def run(demonstration: ModuleType, monkeypatch: pytest.MonkeyPatch) -> TaskRun:
    """The first run of the schedule that spends, without the pauses that stand for its calls."""
    monkeypatch.setattr(demonstration, "SECONDS_A_CALL", 0)
    demonstration.load(now=database_now())
    schedule = Schedule.objects.get(quota__key=demonstration.DEMO_QUOTA)
    return operations.run_now(schedule, now=database_now(), actor="ada")


def go_on() -> None:
    """Let the launcher and a worker do what they have to do."""
    for leased in launching._lease_due(database_now(), database_now(), 1):
        execute(leased.claim, WORKER, database_now)


def test_the_run_that_spends_pauses_whenever_in_a_minute_it_begins(demonstration: ModuleType, run: TaskRun) -> None:
    assert demonstration.ITEMS > 2 * demonstration.CALLS_A_MINUTE
    go_on()
    run.refresh_from_db()
    assert run.state == RunState.PAUSED
    assert demonstration.CALLS_A_MINUTE <= run.progress["call"] < demonstration.ITEMS


def test_it_goes_on_where_it_was_when_somebody_raises_the_limit(demonstration: ModuleType, run: TaskRun) -> None:
    go_on()
    charging.set_limit(demonstration.DEMO_QUOTA, 100, now=database_now())
    assert recovering.resume_by_events(now=database_now()) == 1
    go_on()

    run.refresh_from_db()
    assert (run.state, run.progress["call"]) == (RunState.DONE, demonstration.ITEMS)
    assert Quota.objects.get(key=demonstration.DEMO_QUOTA).spent_total == demonstration.ITEMS


# --- the channel to the inbox ------------------------------------------------------------------------------------

SECRET = "whsec_" + "QUFB" * 8


def at_port(settings: Settings, port: int) -> str:
    """Let the inbox be at this port; return its address."""
    settings.TIDELINE_INBOX_URL = f"http://127.0.0.1:{port}/inbox/"
    settings.TIDELINE_INBOX_SECRET = SECRET
    settings.TIDELINE_ALLOWED_HOSTS_INWARD = [f"127.0.0.1:{port}"]
    return settings.TIDELINE_INBOX_URL


def channel_to_the_inbox(demonstration: ModuleType) -> Channel:
    return Channel.objects.get(name=demonstration.INBOX)


def test_the_channel_to_the_inbox_is_told_everything(demonstration: ModuleType, settings: Settings) -> None:
    address = at_port(settings, 8000)
    demonstration.load(now=database_now())
    channel = channel_to_the_inbox(demonstration)
    assert (channel.address.reveal(), channel.secrets.reveal()) == (address, SECRET)
    assert (channel.format, channel.least_severity) == ("generic", Severity.INFO)


def test_the_channel_follows_the_inbox_to_another_port(demonstration: ModuleType, settings: Settings) -> None:
    at_port(settings, 8000)
    demonstration.load(now=database_now())
    address = at_port(settings, 8001)
    for _ in range(2):
        demonstration.move_inbox(now=database_now())
    channel = channel_to_the_inbox(demonstration)
    assert (channel.address.reveal(), channel.address_shown, channel.version) == (address, "127.0.0.1", 2)


def test_a_channel_that_leads_elsewhere_cannot_be_read_or_is_gone_is_left_alone(
    demonstration: ModuleType, settings: Settings
) -> None:
    at_port(settings, 8001)
    demonstration.load(now=database_now())
    for address in (Secret.of("https://hooks.example.org/token"), Secret("unreadable")):
        Channel.objects.update(address=address)
        demonstration.move_inbox(now=database_now())
        assert channel_to_the_inbox(demonstration).address.sealed == address.sealed
    Channel.objects.all().delete()
    demonstration.move_inbox(now=database_now())
    assert not Channel.objects.exists()


def test_without_an_inbox_there_is_no_channel(demonstration: ModuleType) -> None:
    demonstration.load(now=database_now())
    assert not Channel.objects.exists()

"""A simulated carrier, and one that answers what a test tells it to."""

from collections.abc import Iterator

import pytest
from pytest_django import Settings

from scheduler.polling.carriers.simulator import AccountPlan, Limit, RunningCarrier, simulated_carrier
from tests.scheduler.polling.carriers.scripted import ScriptedCarrier


@pytest.fixture(scope="package")
def running_carrier() -> Iterator[RunningCarrier]:
    plans = (
        AccountPlan(latency=0, cards=1000, change_seconds=0.05, change_interval=0.5),
        AccountPlan("patient", latency=0, change_seconds=3600, change_interval=3600),
        AccountPlan("hasty", latency=0, token_seconds=0.2),
        AccountPlan("narrow", latency=5, concurrency=1),
        AccountPlan("limited", latency=0, limits=(Limit(5, 3600),)),
    )
    with simulated_carrier(*plans) as carrier:
        yield carrier


@pytest.fixture
def carrier(running_carrier: RunningCarrier, settings: Settings) -> Iterator[RunningCarrier]:
    """A simulated carrier without faults, which may be called though it is on this machine."""
    settings.TIDELINE_ALLOWED_HOSTS_INWARD = [running_carrier.place]
    yield running_carrier
    running_carrier.clear_faults()


@pytest.fixture
def scripted(settings: Settings) -> Iterator[ScriptedCarrier]:
    """A carrier that answers what the test tells it to."""
    with ScriptedCarrier() as scripted:
        settings.TIDELINE_ALLOWED_HOSTS_INWARD = [scripted.place]
        yield scripted

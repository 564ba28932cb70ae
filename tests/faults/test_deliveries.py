"""The outbox under fire: one receiver hangs, one refuses now and then, senders are killed and the broker restarts; what
each receiver was sent is held against what the rows say of it.

TIDELINE_CAMPAIGN_EVENTS and TIDELINE_CAMPAIGN_SEED make it longer and different; -s shows what happened.
"""

import os
import random
import time
from collections.abc import Sequence
from datetime import datetime, timedelta

import pytest
from django.db.models import QuerySet
from pytest_django import Settings

from alerts import defining
from alerts.models import Channel, Delivery, Event
from alerts.recording import raise_alert, resolve_alert
from alerts.states import DeliveryState, Severity
from project import watching
from project.kit.clock import database_now
from tests.alerts.factories import problem
from tests.faults.house import House
from tests.faults.listeners import Listener, listening
from tests.faults.outbox_books import RAISED, audit_channel, messages_of
from tests.faults.quickness import LEASE_SECONDS

EVENTS = int(os.environ.get("TIDELINE_CAMPAIGN_EVENTS", "500"))
SEED = int(os.environ.get("TIDELINE_CAMPAIGN_SEED", "1"))
KILLS = 3 + EVENTS // 1000
PATIENCE_SECONDS = 60.0 + EVENTS / 10
LARGEST_BURST = 120

pytestmark = [pytest.mark.slow, pytest.mark.timeout(6 * PATIENCE_SECONDS)]


class Campaign:
    """What is raised in a campaign, and the harm that is done meanwhile.

    Attributes:
        kills: when senders were killed.
    """

    def __init__(self, house: House, channels: Sequence[Channel]) -> None:
        self.house, self._channels = house, channels
        self._random = random.Random(SEED)
        self._raised = 0
        self.kills: list[datetime] = []

    def tell(self, count: int, *, kills: int = 0) -> float:
        """Raise so many alerts, in bursts and singly, with so many kills meanwhile and a restart of the broker after
        the first; return how many seconds it took until the channels were told of all.
        """
        began, end = time.monotonic(), self._raised + count
        kill_at = sorted(self._random.sample(range(self._raised, end), kills))
        while self._raised < end:
            self._raise(min(self._burst(), end - self._raised))
            while kill_at and kill_at[0] < self._raised:
                kill_at.pop(0)
                self._kill_a_sender()
        self.house.wait_until(lambda: not self._unfinished().exists(), PATIENCE_SECONDS, "all to be told")
        return time.monotonic() - began

    def _burst(self) -> int:
        return self._random.choice([1, 1, 1, 2, 3, self._random.randint(4, LARGEST_BURST)])

    def _raise(self, count: int) -> None:
        for number in range(self._raised, self._raised + count):
            severity = self._random.choice(Severity.values)
            raise_alert(problem(f"{RAISED}{number}", title=f"x {number}", severity=severity), now=database_now())
            if self._random.randrange(10) == 0:
                resolve_alert(f"{RAISED}{number}", now=database_now())
        self._raised += count

    def _kill_a_sender(self) -> None:
        self._random.choice(self.house.supervised).kill9()
        self.kills.append(database_now())
        if len(self.kills) == 1:
            self.house.broker.stop()
            self.house.broker.launch()
        self.house.look_after()

    def _unfinished(self) -> QuerySet[Delivery]:
        states = [DeliveryState.WAITING, DeliveryState.SENDING]
        return Delivery.objects.filter(channel__in=self._channels, state__in=states)


def test_none_is_doubled_or_lost_though_a_receiver_hangs_and_senders_are_killed(
    house: House, settings: Settings
) -> None:
    *steady, flaky, hanging = [*(Listener(seed) for seed in range(4)), Listener(4, hangs=True)]
    with listening(*steady, flaky, hanging) as hosts:
        settings.TIDELINE_ALLOWED_HOSTS_INWARD = hosts.split(",")
        house.environ |= {"TIDELINE_ALLOWED_HOSTS_INWARD": hosts, "TIDELINE_JOBS": "tests.faults.quick_senders"}
        house.scanners()
        house.supervise("notifier", "notifier")
        told = {make_channel(f"channel {listener.address}", listener): listener for listener in [*steady, flaky]}
        campaign = Campaign(house, list(told))
        campaign.tell(10)  # until everything has started
        alone = campaign.tell(EVENTS // 4)
        stuck = make_channel("hangs", hanging)
        beside = campaign.tell(EVENTS // 4)
        flaky.refuses_every = 5
        campaign.tell(EVENTS // 2, kills=KILLS)
        house.close()

    print(f"\n{EVENTS} alerts, {KILLS} kills; a quarter took {alone:.1f} s, and beside one that hangs {beside:.1f} s")
    for channel, listener in told.items():
        marked = audit_channel(channel, listener.taken, campaign.kills, timedelta(seconds=LEASE_SECONDS))
        print(f"{len(listener.taken)} taken, {listener.refused} refused, {marked} deliveries marked")
    in_doubt = messages_of(stuck, DeliveryState.UNKNOWN)
    print(f"hanging: {len(hanging.taken)} messages, {sum(map(len, in_doubt.values()))} deliveries in doubt")
    assert in_doubt.keys() <= set(hanging.taken)
    assert len(hanging.taken) == len(set(hanging.taken)) > 1
    assert flaky.refused
    assert Delivery.objects.filter(told__isnull=False).exists(), "there was no digest"
    assert beside < 3 * alone, "the receiver that hangs held up the others"


def test_receivers_that_hang_leave_senders_for_another(house: House, settings: Settings) -> None:
    *hanging, sound = [*(Listener(seed, hangs=True) for seed in range(3)), Listener(3)]
    with listening(*hanging, sound) as hosts:
        settings.TIDELINE_ALLOWED_HOSTS_INWARD = hosts.split(",")
        house.environ |= {"TIDELINE_ALLOWED_HOSTS_INWARD": hosts}
        house.scanners()
        house.start("notifier")
        stuck = [make_channel(f"channel {listener.address}", listener) for listener in hanging]
        make_channel("the sound one", sound)
        raise_alert(problem("x:1"), now=database_now())
        house.wait_until(lambda: all(listener.taken for listener in hanging), what="three senders to hang")
        raise_alert(problem("x:2"), now=database_now())
        house.wait_until(lambda: len(sound.taken) == 2, what="the sound receiver to be told")
        assert Delivery.objects.filter(state=DeliveryState.SENDING, channel__in=stuck).count() == len(stuck)


def test_that_the_broker_is_away_is_told_without_it(house: House, settings: Settings) -> None:
    with listening(listener := Listener(1)) as hosts:
        settings.TIDELINE_ALLOWED_HOSTS_INWARD = hosts.split(",")
        house.environ |= {"TIDELINE_ALLOWED_HOSTS_INWARD": hosts}
        make_channel("the only one", listener)
        house.scanners()
        house.supervise("notifier")
        raise_alert(problem("x:1"), now=database_now())
        house.wait_until(lambda: len(listener.taken) == 1, what="everything to be at work")
        house.broker.stop()
        told = Event.objects.filter(kind=watching.BROKER_DOWN).values_list("pk", flat=True)
        house.wait_until(lambda: set(map(str, told.all())) & set(listener.taken), 60, "the broker's alert to be told")


def make_channel(name: str, listener: Listener) -> Channel:
    """Create a channel that is told of everything at the listener."""
    return defining.create(
        name=name, address=listener.address, format="generic", least_severity=Severity.INFO, now=database_now()
    )

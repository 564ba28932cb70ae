"""Redis and PostgreSQL are emptied, restarted, hung and cut off, and processes killed, while cards of two accounts are
polled without end: after each blow every card is polled again, and in the end each is in one order, no check was ever
written over by who had lost it, and none of it was taken for a failure.

With TIDELINE_CAMPAIGN_SECONDS and TIDELINE_CAMPAIGN_SEED it goes on at random for so long.
"""

import os
import signal
from collections.abc import Callable, Iterator

import pytest
from django.db import connection
from pytest_django import Settings
from redis import Redis

from project.kit.clock import database_now
from project.services import PostgreSQL
from quotas.ratelimit.calls import PREFIX as LIMITERS
from scheduler.polling import connecting
from scheduler.polling.carriers.simulator import AccountPlan, RunningCarrier, simulated_carrier
from scheduler.polling.cutover import standing, switching
from scheduler.polling.models import Card, CarrierAccount, Device
from scheduler.polling.system_settings import Mode
from tests.faults.house import House
from tests.faults.nemesis import Nemesis, server_process
from tests.faults.polling_books import Ledger, answered_since, audit_no_failure, audit_orders
from tests.scheduler.polling.factories import make_tier
from tests.scheduler.polling.fleets import make_fleet

SECONDS = float(os.environ.get("TIDELINE_CAMPAIGN_SECONDS", "0"))
SEED = int(os.environ.get("TIDELINE_CAMPAIGN_SEED", "1"))
HEALING_SECONDS = 90.0
CARDS = 20  # of each account


class PollingNemesis(Nemesis):
    """Harms a house that polls."""

    def __init__(self, house: House, postgresql: PostgreSQL, seed: int) -> None:
        super().__init__(house, postgresql, seed)
        self._blows = {
            self.kill_a_poller: 4,
            self.kill_a_main_process: 2,
            self.ask_one_to_stop: 2,
            self.freeze_one: 3,
            self.cut_all_sessions: 3,
            self.empty_the_broker: 3,
            self.forget_the_limits: 2,
            self.hang_the_broker: 1,
            self.restart_the_broker_empty: 1,
            self.hang_the_database: 1,
            self.restart_the_database: 1,
            self.cut_over: 1,
        }

    @property
    def story_of_all(self) -> list[list[Callable[[], None]]]:
        """Each kind of harm, alone or with another, and what loses the most of it more than once."""
        return [
            [self.empty_the_broker],
            [self.forget_the_limits, self.kill_a_poller],
            [self.restart_the_broker_empty],
            [self.cut_all_sessions, self.empty_the_broker],
            [self.hang_the_broker_for_long],
            [self.restart_the_database, self.forget_the_limits],
            [self.cut_over, self.kill_a_poller, self.empty_the_broker],
            [self.cut_over, self.kill_a_main_process],
        ]

    def cut_over(self) -> None:
        """Begin to let the other way decide; the scans lead it on, whatever is harmed meanwhile."""
        connection.close()
        self._house.wait_until(lambda: not switching.under_way(), HEALING_SECONDS, "the cut-over before to end")
        wanted = standing.other(standing.now_holds().mode)
        switching.start(wanted, actor="the test", now=database_now())

    def kill_a_poller(self) -> None:
        """Kill a poller with all that it has in work."""
        self._one("poller").kill9()

    def forget_the_limits(self) -> None:
        """Lose what is known of calls that were made."""
        redis = Redis.from_url(self._broker.url)
        for key in redis.scan_iter(f"{LIMITERS}:*"):
            redis.delete(key)

    def hang_the_broker_for_long(self) -> None:
        """Stop Redis in its tracks until its callers give up."""
        before = self._timeouts()
        os.kill(server_process(self._broker), signal.SIGSTOP)
        self._house.wait_until(lambda: self._timeouts() > before, 60, "a poller to give up")
        os.kill(server_process(self._broker), signal.SIGCONT)

    def _timeouts(self) -> int:
        pollers = [process for process in self._house.processes.started if process.name == "poller"]
        return sum(poller.output.count("TimeoutError") for poller in pollers)


@pytest.fixture
def carrier(house: House, settings: Settings) -> Iterator[RunningCarrier]:
    """A carrier that the house polls, at the house's Redis."""
    with simulated_carrier(AccountPlan("one", latency=100), AccountPlan("other", latency=20)) as carrier:
        house.environ |= {
            "TIDELINE_ALLOWED_HOSTS_INWARD": carrier.place,
            "TIDELINE_POLLING_LEASE_SECONDS": "3",
            "TIDELINE_POLLING_RENEW_SECONDS": "1",
        }
        settings.REDIS_URL = house.broker.url
        connecting.client.cache_clear()
        yield carrier
        connecting.client.cache_clear()


@pytest.mark.slow
@pytest.mark.timeout(SECONDS + 10 * HEALING_SECONDS)
def test_whatever_is_lost_amid_the_work_every_card_is_polled_again_from_one_order_and_by_one_at_a_time(
    own_postgresql: PostgreSQL, house: House, carrier: RunningCarrier
) -> None:
    accounts = polled_accounts(carrier)
    house.supervise("worker", "beat", "beat", "poller", "poller", "legacy")
    nemesis, ledger = PollingNemesis(house, own_postgresql, SEED), Ledger()
    wait_until_all_are_polled(house, ledger)
    for blows in nemesis.story_of_all:
        for blow in blows:
            blow()
        connection.close()
        wait_until_all_are_polled(house, ledger)
    nemesis.rage(SECONDS)
    print(f"seed {SEED}:", *nemesis.story, sep="\n")  # shown if what follows fails
    connection.close()
    wait_until_all_are_polled(house, ledger)
    if standing.now_holds() != standing.Standing(Mode.CARRIER):
        nemesis.cut_over()
        house.wait_until(lambda: not switching.under_way(), HEALING_SECONDS, "the way of accounts to decide again")
        wait_until_all_are_polled(house, ledger)

    audit_orders(*(account.pk for account in accounts))
    audit_no_failure()
    for account in accounts:
        assert carrier.stats(account.name)["card_asked_twice_at_once"] == 0


def polled_accounts(carrier: RunningCarrier) -> list[CarrierAccount]:
    """Insert two accounts whose cards are polled every two seconds; each device has a card of both."""
    make_tier(usage_seconds=2, card_status_seconds=2)
    limits = {"one": [{"limit": 30, "seconds": 1}, {"limit": 2000, "seconds": 60}], "other": []}
    accounts = [make_fleet(carrier, name, cards=CARDS, rate_windows=windows) for name, windows in limits.items()]
    devices = Device.objects.bulk_create(Device(code=f"device {number}") for number in range(CARDS))
    for account in accounts:
        cards = list(account.cards.order_by("pk"))
        for card, device in zip(cards, devices, strict=True):
            card.device = device
        Card.objects.bulk_update(cards, ["device"])
    return accounts


def wait_until_all_are_polled(house: House, ledger: Ledger) -> None:
    """Wait until each check of each card was answered once more."""
    since = database_now()

    def all_are() -> bool:
        ledger.look()
        return answered_since(since) == 2 * Card.objects.count()

    house.wait_until(all_are, HEALING_SECONDS, "all cards to be polled again")

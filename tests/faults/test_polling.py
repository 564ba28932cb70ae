"""Pollers that are killed, frozen or asked to stop amid their cards, and carriers that fail or hang: pollers as the
Procfile starts them, and a carrier over HTTP that counts how it is asked. Where nothing else is said, the dispatcher's
rounds are done by the test while it waits.
"""

import time
from collections.abc import Callable, Iterator

import pytest
from celery import current_app
from pytest_django import Settings

from alerts.models import Alert, Channel, Delivery
from alerts.recording import raise_alert
from alerts.states import DeliveryState
from project.kit.clock import database_now
from scheduler.models import TaskRun
from scheduler.polling import connecting, system_settings, tasks
from scheduler.polling.carriers.simulator import AccountPlan, Fault, FaultKind, RunningCarrier, simulated_carrier
from scheduler.polling.dispatching import dispatch
from scheduler.polling.models import CardCheck, CarrierAccount
from tests.alerts.factories import make_channel, problem
from tests.faults.house import CONTAINER_GRACE_SECONDS, House
from tests.faults.listeners import Listener, listening
from tests.faults.polling_books import Ledger, audit_no_failure, audit_orders
from tests.processes import Processes, Started
from tests.scheduler.polling.factories import make_tier
from tests.scheduler.polling.fleet.conftest import redis  # noqa: F401 - a fixture
from tests.scheduler.polling.fleets import counts, make_fleet, put_in_order

pytestmark = pytest.mark.slow

LEASE = {"TIDELINE_POLLING_LEASE_SECONDS": "3", "TIDELINE_POLLING_RENEW_SECONDS": "1"}
LONG_LEASE = {"TIDELINE_POLLING_LEASE_SECONDS": "600"}
INFLIGHT_LIMIT = 8


@pytest.fixture
def carrier(settings: Settings) -> Iterator[RunningCarrier]:
    with simulated_carrier(AccountPlan(), AccountPlan("slow", latency=700)) as carrier:
        settings.TIDELINE_ALLOWED_HOSTS_INWARD = [carrier.place]
        settings.TIDELINE_POLLING_LEASE_SECONDS = 3
        yield carrier


class Site:
    """Pollers on the tests' own Redis, and the rounds of their dispatcher."""

    def __init__(self, processes: Processes, carrier: RunningCarrier) -> None:
        self._processes = processes
        self._environ = LEASE | {"TIDELINE_ALLOWED_HOSTS_INWARD": carrier.place}

    def poller(self, **environ: str) -> Started:
        """Start a poller."""
        return self._processes.start("poller", **self._environ | environ)

    def wait_until(self, condition: Callable[[], object], what: str) -> None:
        """Dispatch again and again until the condition holds."""

        def holds() -> object:
            dispatch(connecting.client(), now=database_now())
            return condition()

        self._processes.wait_until(holds, 60, what)

    def wait_for_answers(self, number: int) -> None:
        """Wait until so many checks were answered."""
        answered = CardCheck.objects.filter(succeeded_at__isnull=False)
        self.wait_until(lambda: answered.count() == number, f"{number} answers")


@pytest.fixture
def site(processes: Processes, carrier: RunningCarrier, redis: None) -> Iterator[Site]:  # noqa: F811
    make_tier(usage_seconds=3600, card_status_seconds=3600)
    yield Site(processes, carrier)
    with current_app.connection_for_write() as connection:
        connection.default_channel.queue_purge("polling.card")


# --- pollers ---------------------------------------------------------------------------------------------------


def test_the_cards_of_a_killed_poller_are_claimed_again_after_their_lease_and_none_is_lost(
    site: Site, carrier: RunningCarrier
) -> None:
    account = make_fleet(carrier, "slow", cards=2 * INFLIGHT_LIMIT, inflight_limit=INFLIGHT_LIMIT)
    doomed = site.poller()
    site.wait_until(lambda: carrier.stats("slow")["in_flight"], "calls to be under way")

    doomed.kill9()
    site.poller()

    site.wait_for_answers(4 * INFLIGHT_LIMIT)
    site.wait_until(lambda: not counts(account).running, "all claims to end")
    stats = carrier.stats("slow")
    assert counts(account).lease_expired > 0
    assert stats["most_in_flight"] <= INFLIGHT_LIMIT
    assert stats["card_asked_twice_at_once"] == 0
    audit_orders(account.pk)
    audit_no_failure()


def test_a_poller_frozen_beyond_its_lease_asks_no_further_and_writes_nothing_over_its_successors_results(
    site: Site, carrier: RunningCarrier
) -> None:
    slow = make_fleet(carrier, "slow", cards=12, card_max_in_flight=6)
    paced = make_fleet(carrier, cards=6, rate_windows=[{"limit": 4, "seconds": 1}])
    frozen = site.poller()
    for name in ("slow", "main"):
        site.wait_until(lambda name=name: carrier.stats(name)["calls"], "calls to be under way")  # type: ignore[misc]

    frozen.freeze()
    site.poller()
    site.wait_for_answers(36)
    calls = [carrier.stats(name)["calls"] for name in ("slow", "main")]
    ledger = Ledger()
    ledger.look()
    frozen.thaw()
    site.wait_until(lambda: counts(slow).stale_finish >= 6, "the frozen poller to hand in what it has")
    frozen.terminate()
    assert frozen.wait() == 0

    ledger.look()
    assert ledger.writes == 36, "a check was written anew"
    assert [carrier.stats(name)["calls"] for name in ("slow", "main")] == calls
    assert carrier.stats("slow")["card_asked_twice_at_once"] == 0
    audit_orders(slow.pk, paced.pk)
    audit_no_failure()


def test_a_poller_that_is_asked_to_stop_ends_what_it_can_and_gives_the_rest_back_at_once(
    site: Site, carrier: RunningCarrier, settings: Settings
) -> None:
    settings.TIDELINE_POLLING_LEASE_SECONDS = 600
    slow, hanging = make_fleet(carrier, "slow", cards=10), make_fleet(carrier, cards=10)
    carrier.order(Fault(kind=FaultKind.HANG, account="main"))
    asked = site.poller(**LONG_LEASE)
    site.wait_until(lambda: carrier.stats("slow")["in_flight"] + carrier.stats()["in_flight"] == 20, "all calls")

    asked.terminate()
    assert asked.wait(CONTAINER_GRACE_SECONDS) == 0

    assert (counts(slow).finished, counts(slow).released) == (10, 0)
    assert (counts(hanging).running, counts(hanging).due, counts(hanging).released) == (0, 10, 10)
    audit_orders(slow.pk, hanging.pk)
    audit_no_failure()


# --- carriers --------------------------------------------------------------------------------------------------


def test_checks_that_fail_back_off_and_are_told_as_one_alert_of_the_account_and_recover_by_themselves(
    site: Site, carrier: RunningCarrier
) -> None:
    for key, value in {
        "failure.backoff": [1, 2, 3],
        "failure.alert_threshold": 2,
        "account_alert.threshold": 5,
    }.items():
        system_settings.change(f"polling.{key}", value, actor="the test", now=database_now())
    system_settings.current.forget()
    account = make_fleet(carrier, cards=5)
    carrier.order(Fault(kind=FaultKind.SERVER, account="main"))
    site.poller()
    told = Alert.objects.filter(kind="card_check_failing", count__gt=1)

    site.wait_until(lambda: told.count() == 10, "each check to be told and to fail once more")
    storm = Alert.objects.get(kind="cards_failing")
    assert storm.subject == f"carrier_account:{account.pk}"
    assert storm.children.count() == Alert.objects.exclude(pk=storm.pk).count() == 10
    asked_while_failing = max(len(carrier.stats()["by_second"]), 1)
    assert sum(carrier.stats()["calls"].values()) <= 10 * asked_while_failing, "nothing backed off"
    carrier.clear_faults()

    failing = CardCheck.objects.filter(failures__gt=0)
    site.wait_until(lambda: not failing.exists(), "all to be answered again")
    tasks.end_storms()
    assert not Alert.objects.filter(resolved_at__isnull=True).exists()
    audit_orders(account.pk)


class Pace:
    """How long cards of one account, runs and alerts to one receiver take, all at the same time.

    Attributes:
        seconds: of each of them.
    """

    NUMBER = 10
    LEAST_SECONDS = 2.0  # scans come each second: below that it is chance which of two is quicker

    def __init__(self, house: House, account: CarrierAccount, channel: Channel) -> None:
        began, asked_after = time.monotonic(), database_now()
        put_in_order(account)
        runs = [house.open("test.one").pk for _ in range(self.NUMBER)]
        for run in runs:
            raise_alert(problem(f"x:{run}"), now=database_now())
        answered = CardCheck.objects.filter(card__account=account, succeeded_at__gt=asked_after)
        told = Delivery.objects.filter(channel=channel, event__at__gt=asked_after)
        ends: dict[str, Callable[[], bool]] = {
            "cards": lambda: answered.count() == 2 * account.cards.count(),
            "runs": lambda: TaskRun.objects.filter(pk__in=runs, finished_at__isnull=False).count() == self.NUMBER,
            "alerts": lambda: set(told.values_list("state", flat=True)) == {DeliveryState.SENT},
        }
        self.seconds: dict[str, float] = {}

        def all_ended() -> bool:
            for what, has_ended in ends.items():
                if what not in self.seconds and has_ended():
                    self.seconds[what] = time.monotonic() - began
            return len(self.seconds) == len(ends)

        house.wait_until(all_ended, 60, "cards, runs and alerts to come to their end")


def test_cases_25_and_34_an_account_and_a_receiver_that_hang_slow_down_neither_other_cards_nor_runs_nor_alerts(
    house: House, carrier: RunningCarrier, settings: Settings
) -> None:
    sound, stuck = Listener(1), Listener(2, hangs=True)
    with listening(sound, stuck) as hosts:
        house.environ |= LEASE | {"TIDELINE_ALLOWED_HOSTS_INWARD": f"{carrier.place},{hosts}"}
        settings.REDIS_URL = house.broker.url
        connecting.client.cache_clear()
        make_tier(usage_seconds=3600, card_status_seconds=3600)
        channel = make_channel(address=sound.address)
        quick = make_fleet(carrier, "slow", cards=24, rate_windows=[{"limit": 20, "seconds": 1}])
        hanging = make_fleet(carrier, cards=300, inflight_limit=300)
        CarrierAccount.objects.filter(pk=hanging.pk).update(active=False)
        house.scanners()
        house.start("poller", "runner", "notifier")
        Pace(house, quick, channel)  # until everything has started
        alone = Pace(house, quick, channel)
        make_channel(address=stuck.address)
        carrier.order(Fault(kind=FaultKind.HANG, account="main"))
        CarrierAccount.objects.filter(pk=hanging.pk).update(active=True)
        house.wait_until(lambda: carrier.stats()["in_flight"] >= 100, what="a hundred calls to hang")
        beside = Pace(house, quick, channel)
    connecting.client.cache_clear()

    print(f"\nalone {alone.seconds}, beside what hangs {beside.seconds}")
    assert carrier.stats()["in_flight"] >= 100
    assert stuck.taken
    for what, seconds in alone.seconds.items():
        assert beside.seconds[what] < 3 * max(seconds, Pace.LEAST_SECONDS), what

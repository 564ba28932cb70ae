"""Whether the polling can do what is asked of it, told from rows and Redis with what to do about it."""

from typing import Any

import pytest
from pytest_django import Settings
from redis import Redis

from project.kit.clock import database_now
from project.kit.findings import Finding, Level
from scheduler.polling import capacity, examining, tiers
from scheduler.polling.carriers.simulator import settings_for
from scheduler.polling.fleet.initializing import rebuild
from scheduler.polling.fleet.rebuilds import Rebuild
from scheduler.polling.models import CarrierAccount, PollingParams
from scheduler.polling.queue import Queue, calls
from tests.scheduler.polling.factories import make_account, make_cards, make_tier
from tests.scheduler.polling.fleet.conftest import redis  # noqa: F401 - a fixture

pytestmark = pytest.mark.django_db


@pytest.fixture
def client(redis: Redis) -> Redis:  # noqa: F811 - the fixture
    """A Redis that a poller has told of itself."""
    capacity.say(redis, "polling.card", "poller", 1000)
    return redis


def fleet(client: Redis, name: str = "acme", cards: int = 0, **params: Any) -> CarrierAccount:
    """Insert an account with its cards in order; it bears 5 calls a second."""
    account = make_account(name=name, gateway="http_json", settings=settings_for("https://carrier.example"))
    PollingParams.objects.create(account=account, changed_at=account.created_at, **params)
    make_cards(account, cards)
    rebuild(client, account.pk, by="ann", now=database_now())
    return account


def found(client: Redis, part: str) -> list[Finding]:
    tiers.current.forget()
    return [finding for finding in examining.examine(client) if finding.part == part]


def only(findings: list[Finding]) -> Finding:
    (finding,) = findings
    return finding


def test_without_accounts_there_is_nothing_to_look_at(client: Redis) -> None:
    make_account(active=False)
    (finding,) = examining.examine(client)
    assert finding == Finding(examining.ACCOUNTS, Level.WELL, "There is none that is active.")


def test_where_all_is_well_each_part_says_so(client: Redis) -> None:
    make_tier()
    fleet(client, cards=10)
    findings = list(examining.examine(client))
    assert [finding.part for finding in findings] == [
        examining.ACCOUNTS,
        examining.POLLERS,
        examining.ORDERS,
        examining.LIMITS,
        examining.TIERS,
    ]
    assert {finding.level for finding in findings} == {Level.WELL}


def test_what_a_card_takes_in_redis_is_told(client: Redis) -> None:
    make_tier()
    fleet(client, cards=1000)
    said = only(found(client, examining.ORDERS)).says
    assert said.startswith("1,000 cards of about ")
    taken = int(said.split("about ")[1].split()[0])
    assert 100 < taken < 350


# --- accounts and orders ---------------------------------------------------------------------------------------


def test_an_account_whose_settings_cannot_be_used_is_trouble_at_their_place(client: Redis) -> None:
    account = fleet(client)
    CarrierAccount.objects.filter(pk=account.pk).update(settings={"base_url": 5})
    finding = only(found(client, examining.ACCOUNTS))
    assert finding.level is Level.TROUBLE
    assert "“acme” cannot be asked: settings.base_url" in finding.says


def test_of_many_accounts_with_the_same_trouble_some_are_named(client: Redis) -> None:
    for number in range(examining.NAMED + 3):
        make_account(name=f"account {number}", gateway="unheard of")
    findings = found(client, examining.ACCOUNTS)
    assert len(findings) == examining.NAMED + 1
    assert findings[-1].says == "The same holds for 3 further accounts."


def test_an_order_that_is_lost_is_trouble_unless_it_is_being_built(client: Redis) -> None:
    account = fleet(client, cards=2)
    Queue(client).ask(calls.begin_rebuild(account.pk))
    finding = only(found(client, examining.ORDERS))
    assert (finding.level, finding.says) == (Level.TROUBLE, "That of “acme” is lost, and nothing of it is polled.")
    right = Rebuild(client, account.pk)
    assert right.taken()
    right.begin("ann", 2, database_now())
    right.go_on(1)
    finding = only(found(client, examining.ORDERS))
    assert (finding.level, finding.says) == (Level.WARNING, "That of “acme” is being built: 1 of 2 cards.")


# --- limits ----------------------------------------------------------------------------------------------------


def test_cards_in_work_that_are_too_few_for_the_rate_are_told_with_the_number_that_is_enough(client: Redis) -> None:
    account = fleet(client, inflight_limit=10, rate_windows=[{"limit": 50, "seconds": 1}])
    finding = only(found(client, examining.LIMITS))
    assert finding.level is Level.WARNING
    assert "“acme” may have 10 cards in work, which at its limit are asked within 0.2 s" in finding.says
    assert finding.remedy == "Raise its cards in work to 50 or more."
    PollingParams.objects.filter(account=account).update(inflight_limit=50)
    assert only(found(client, examining.LIMITS)).level is Level.WELL


def test_an_account_without_a_limit_loses_no_calls(client: Redis) -> None:
    fleet(client, inflight_limit=1, rate_windows=[])
    assert only(found(client, examining.LIMITS)).level is Level.WELL


def test_tiers_that_ask_for_more_than_an_account_bears_are_told_in_numbers(client: Redis) -> None:
    make_tier(usage_seconds=3600, card_status_seconds=None)
    fleet(client, cards=10, rate_windows=[{"limit": 1, "seconds": 600}])
    finding = only(found(client, examining.TIERS))
    assert finding.level is Level.WARNING
    assert "They ask “acme” for 240 calls a day, and its rate windows allow 144" in finding.says


# --- pollers ---------------------------------------------------------------------------------------------------


def test_a_queue_that_no_poller_reads_is_trouble(client: Redis) -> None:
    fleet(client)
    capacity.say(client, "polling.card", "poller", 0)
    finding = only(found(client, examining.POLLERS))
    assert (finding.level, finding.says) == (Level.TROUBLE, "Nobody reads the queue polling.card.")


def test_pollers_that_hold_fewer_cards_than_the_accounts_want_are_told(client: Redis) -> None:
    fleet(client, "one", inflight_limit=800)
    fleet(client, "two", inflight_limit=800)
    finding = only(found(client, examining.POLLERS))
    assert finding.level is Level.WARNING
    assert "hold 1,000 cards, and its accounts may have 1,600 in work" in finding.says


def test_a_queue_of_its_own_has_to_be_declared_and_read(client: Redis, settings: Settings) -> None:
    fleet(client, queue="polling.card.acme")
    assert only(found(client, examining.POLLERS)).remedy == "Add it to TIDELINE_POLLING_QUEUES of every process."
    settings.TIDELINE_POLLING_QUEUES = ["polling.card.acme"]
    assert only(found(client, examining.POLLERS)).says == "Nobody reads the queue polling.card.acme."
    capacity.say(client, "polling.card.acme", "its own", 200)
    assert only(found(client, examining.POLLERS)).level is Level.WELL

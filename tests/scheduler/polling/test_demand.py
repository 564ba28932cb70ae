"""What the tiers ask of an account is counted from the rows, by the rule that the polling itself goes by."""

from datetime import timedelta

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from pytest_django import DjangoAssertNumQueries

from scheduler.polling import demand, policy, tiers
from scheduler.polling.carriers.simulator import settings_for
from scheduler.polling.demand import Asked
from scheduler.polling.models import Card, CarrierAccount, PollingParams
from scheduler.polling.policy import Demand, Facts
from scheduler.polling.states import CardState
from tests.scheduler.polling.factories import NOW, make_account, make_cards, make_tier

pytestmark = pytest.mark.django_db

ACTIVE, STOPPED = CardState.ACTIVE, CardState.STOPPED


def make_carrier_account(windows: list[dict[str, int]], *checks: str) -> CarrierAccount:
    """Insert an account that can make some checks, all of them if none is named."""
    said = settings_for("https://carrier.example")
    said["checks"] = {check: call for check, call in said["checks"].items() if not checks or check in checks}
    account = make_account(gateway="http_json", settings=said)
    PollingParams.objects.create(account=account, changed_at=NOW, rate_windows=windows)
    return account


def asked_of(*accounts: CarrierAccount) -> list[Asked]:
    """Return what is asked of accounts, each as the database has it."""
    rows = [CarrierAccount.objects.get(pk=account.pk) for account in accounts]
    tiers.current.forget()
    return list(demand.of_accounts(rows).values())


def test_each_account_is_asked_for_its_own_cards_by_the_first_tier_that_matches() -> None:
    make_tier(states=[ACTIVE], usage_seconds=3600, card_status_seconds=None)
    make_tier(usage_seconds=None, card_status_seconds=86_400)
    busy, idle = make_carrier_account([{"limit": 1, "seconds": 60}]), make_carrier_account([])
    make_cards(busy, 10, state=ACTIVE)
    make_cards(busy, 3, state=STOPPED)
    make_cards(busy, 4, polling_enabled=False)
    make_cards(idle, 5, state=STOPPED)
    assert asked_of(busy, idle) == [
        Asked(13, 13, Demand(243, 1440), timedelta(minutes=13)),
        Asked(5, 5, Demand(5, None), None),
    ]


def test_cards_that_no_tier_matches_are_counted_and_ask_for_nothing() -> None:
    make_tier(states=[ACTIVE])
    account = make_carrier_account([])
    make_cards(account, 2, state=STOPPED)
    assert asked_of(account) == [Asked(2, 0, Demand(0, None), None)]


def test_only_checks_that_the_account_can_make_count() -> None:
    make_tier(usage_seconds=3600, card_status_seconds=3600)
    account = make_carrier_account([{"limit": 1, "seconds": 1}], "usage")
    make_cards(account, 10)
    (asked,) = asked_of(account)
    assert (asked.demand.calls_a_day, asked.full_cycle) == (240, timedelta(seconds=10))


def test_an_account_whose_settings_cannot_be_used_makes_no_calls() -> None:
    make_tier()
    account = make_account(gateway="unheard of")
    make_cards(account, 1)
    assert asked_of(account)[0].demand.calls_a_day == 0


def test_one_query_is_asked_whatever_there_is(django_assert_num_queries: DjangoAssertNumQueries) -> None:
    make_tier()
    accounts = [make_carrier_account([]) for _ in range(5)]
    for account in accounts:
        make_cards(account, 3)
    rows = list(CarrierAccount.objects.select_related("params"))
    tiers.current()
    with django_assert_num_queries(1):
        demand.of_accounts(rows)


LARGEST = 2**63 - 1
SHARES = st.none() | st.integers(0, 400) | st.integers(LARGEST - 400, LARGEST)


@settings(max_examples=40, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(cards=st.lists(st.tuples(SHARES, SHARES), min_size=1, max_size=12), bound=st.integers(0, 120))
def test_shares_of_usage_are_told_apart_as_the_tiers_do(cards: list[tuple[int | None, int | None]], bound: int) -> None:
    tier = make_tier(usage_from_percent=bound)
    account = make_carrier_account([])
    for used, allowance in cards:
        make_cards(account, 1, used_bytes=used, allowance_bytes=allowance)
    known = tiers.as_tier(tier)
    facts = [Facts("unknown", "unknown", "", used, allowance, 1, "UTC") for used, allowance in cards]
    (asked,) = asked_of(account)
    assert asked.matched == sum(policy.tier_of([known], each) is known for each in facts)
    Card.objects.all().delete()
    tier.delete()

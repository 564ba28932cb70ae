"""The fleet of the try-out: its accounts fit to the carrier that is simulated for them, and follow it to its port."""

import json
import shlex
from collections.abc import Iterator

import pytest
from pytest_django import Settings

from project import tryout, tryout_fleet
from project.kit.clock import database_now
from project.kit.secrets import Secret
from project.settings import BASE_DIR
from project.tryout_fleet import EXAMPLES
from scheduler.polling import accounts, policy, system_settings, tiers
from scheduler.polling.carriers.registry import read_access
from scheduler.polling.carriers.simulator import iccid_of
from scheduler.polling.models import Card, CarrierAccount, PollingTier
from scheduler.polling.policy import Facts
from scheduler.polling.states import CardState, CheckType
from scheduler.polling.tiers import as_tier

pytestmark = pytest.mark.django_db


@pytest.fixture(autouse=True)
def _with_a_carrier(settings: Settings) -> Iterator[None]:
    at_port(settings, 8900)
    yield
    system_settings.current.forget()  # rows that are gone now
    tiers.current.forget()


def at_port(settings: Settings, port: int) -> None:
    """Let the carrier be at this port."""
    settings.TIDELINE_CARRIER_URL = f"http://127.0.0.1:{port}"
    settings.TIDELINE_ALLOWED_HOSTS_INWARD = [f"127.0.0.1:{port}"]


def addresses() -> set[str]:
    return set(CarrierAccount.objects.values_list("settings__base_url", flat=True))


def test_there_are_four_accounts_and_two_thousand_cards() -> None:
    tryout_fleet.load(now=database_now())
    assert (CarrierAccount.objects.count(), Card.objects.filter(polling_enabled=True).count()) == (4, 2000)
    assert sum(example.cards for example in EXAMPLES) - sum(example.plan.cards for example in EXAMPLES) == 25
    for example in EXAMPLES:
        last = iccid_of(example.plan.name, example.cards - 1)
        assert Card.objects.get(iccid=last).account.name == example.name


def test_the_carrier_bears_a_little_more_than_each_account_is_asked() -> None:
    tryout_fleet.load(now=database_now())
    for example in EXAMPLES:
        params = accounts.params_of(CarrierAccount.objects.get(name=example.name))
        for window, limit in zip(params.rate_windows, example.plan.limits, strict=True):
            assert window.seconds == limit.seconds
            assert window.limit < limit.calls < 2 * window.limit
        assert params.max_concurrency == example.plan.concurrency


def test_the_unknown_cards_are_enough_for_an_alert_of_their_account() -> None:
    tryout_fleet.load(now=database_now())
    system_settings.current.forget()
    unknown = sum(max(0, example.cards - example.plan.cards) for example in EXAMPLES)
    assert system_settings.current().account_alert_threshold < unknown


def test_every_account_can_be_asked_with_what_its_row_holds() -> None:
    tryout_fleet.load(now=database_now())
    for account in CarrierAccount.objects.all():
        assert read_access(account.gateway, account.settings, credentials_of(account)).settings


def credentials_of(account: CarrierAccount) -> dict[str, str]:
    credentials: dict[str, str] = json.loads(account.credentials.reveal())
    return credentials


def test_the_tiers_ask_for_no_more_than_the_accounts_bear_once_something_is_known_of_the_cards() -> None:
    tryout_fleet.load(now=database_now())
    known = [as_tier(row) for row in PollingTier.objects.exclude(states=[CardState.UNKNOWN])]
    busiest = max(known, key=lambda tier: sum(1 / seconds for seconds in tier.seconds.values()))
    for account in CarrierAccount.objects.all():
        demand = policy.demand([(busiest, account.cards.count())], accounts.params_of(account).rate_windows)
        assert demand.feasible, account.name


def test_every_card_has_a_tier_and_of_a_new_one_something_is_asked_within_two_minutes() -> None:
    tryout_fleet.load(now=database_now())
    every = [as_tier(row) for row in PollingTier.objects.all()]
    for state in CardState:
        tier = policy.tier_of(every, Facts(state, "unknown", "", None, None, 1, "UTC"))
        assert tier is not None
        assert set(tier.seconds) == set(CheckType)
    new = policy.tier_of(every, Facts("unknown", "unknown", "", None, None, 1, "UTC"))
    assert new is not None
    assert min(new.seconds.values()) == 120


def test_the_accounts_follow_the_carrier_to_another_port(settings: Settings) -> None:
    tryout_fleet.load(now=database_now())
    at_port(settings, 8901)
    for _ in range(2):
        tryout.follow_the_ports()
    assert addresses() == {f"http://127.0.0.1:8901/{example.plan.name}" for example in EXAMPLES}
    assert set(CarrierAccount.objects.values_list("version", flat=True)) == {2}


def test_an_account_that_leads_elsewhere_now_is_left_alone(settings: Settings) -> None:
    tryout_fleet.load(now=database_now())
    elsewhere = CarrierAccount.objects.get(name=EXAMPLES[0].name)
    elsewhere.settings = elsewhere.settings | {"base_url": "https://carrier.example.org/v1"}
    elsewhere.save()
    at_port(settings, 8901)
    tryout.follow_the_ports()
    assert "https://carrier.example.org/v1" in addresses()


def test_an_account_whose_credentials_cannot_be_read_any_more_keeps_the_others_from_nothing(settings: Settings) -> None:
    tryout_fleet.load(now=database_now())
    CarrierAccount.objects.filter(name=EXAMPLES[0].name).update(credentials=Secret("unreadable"))
    at_port(settings, 8901)
    tryout.follow_the_ports()
    assert sum(address.startswith("http://127.0.0.1:8901/") for address in addresses()) == 3


def test_the_carrier_runs_with_the_accounts_at_the_port_of_this_start() -> None:
    tryout_fleet.load(now=database_now())
    words = shlex.split(tryout.carrier() or "")
    assert words[:6] == ["exec", "python", "manage.py", "simulate_carrier", "--port", "8900"]
    assert words[7::2] == [example.at_carrier for example in EXAMPLES]
    assert set(words[6::2]) == {"--account"}


def test_without_an_account_that_leads_to_it_no_carrier_runs() -> None:
    assert tryout.carrier() is None


def test_production_has_a_poller_and_no_carrier() -> None:
    procfile = (BASE_DIR / "Procfile").read_text()
    assert "poller:" in procfile
    assert "simulate_carrier" not in procfile

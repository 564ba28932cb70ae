"""Accounts, parameters and tiers are saved with a version lock, and refused in sentences that name the field."""

from decimal import Decimal
from typing import Any
from unittest import mock

import pytest
from django.core.exceptions import ValidationError
from pytest_django import Settings

from project.kit.secrets import Secret
from project.kit.versions import StaleVersion
from scheduler.polling import accounts, connecting, defining
from scheduler.polling.carriers.registry import BadSettings
from scheduler.polling.fleet.initializing import rebuild
from scheduler.polling.models import CarrierAccount, PollingParams, PollingTier
from scheduler.polling.queue import Queue, calls
from scheduler.polling.states import ErrorClass
from tests.scheduler.polling.factories import HOUR, MINUTE, NOW, make_account, make_cards, make_tier

pytestmark = pytest.mark.django_db

NEW_KEY = "another key, which is long enough for this"


@pytest.fixture(autouse=True)
def access() -> Any:
    """Every gateway takes every account, unless a test says otherwise."""
    with mock.patch("scheduler.polling.defining.accounts.read_access") as read_access:
        yield read_access


def faults(error: pytest.ExceptionInfo[ValidationError]) -> dict[str, list[str]]:
    return error.value.message_dict


# --- accounts ----------------------------------------------------------------------------------------------------


def saved(account: CarrierAccount, version: int = 1, **fields: Any) -> list[str]:
    for name, value in fields.items():
        setattr(account, name, value)
    return defining.save_account(account, expected_version=version, now=NOW + HOUR)


def test_an_account_is_created_with_its_credentials_sealed(access: mock.Mock) -> None:
    account = defining.create_account(
        name="Acme", gateway="http_json", settings={"timezone": "UTC"}, credentials={"password": "hush"}, now=NOW
    )
    access.assert_called_once_with("http_json", {"timezone": "UTC"}, {"password": "hush"})
    row = CarrierAccount.objects.get(pk=account.pk)
    assert row.credentials.reveal() == '{"password": "hush"}'
    assert (row.version, row.created_at) == (1, NOW)


def test_what_the_gateway_refuses_names_the_field_and_the_place_within_it(access: mock.Mock) -> None:
    access.side_effect = BadSettings(
        {"settings.checks.usage.path": "It is missing.", "settings.url": "No.", "credentials.key": "It is missing."}
    )
    with pytest.raises(ValidationError) as refusal:
        defining.create_account(name="Acme", gateway="http_json", settings={}, credentials={}, now=NOW)
    assert faults(refusal) == {
        "settings": ["checks.usage.path: It is missing.", "url: No."],
        "credentials": ["key: It is missing."],
    }
    assert not CarrierAccount.objects.exists()


@pytest.mark.parametrize(
    ("fields", "field", "sentence"),
    [
        ({"name": ""}, "name", "cannot be blank"),
        ({"settings": []}, "settings", "Write the settings as an object"),
        ({"credentials": [1]}, "credentials", "Write the credentials as an object"),
    ],
)
def test_a_field_that_is_wrong_is_named(fields: dict[str, Any], field: str, sentence: str) -> None:
    account = make_account()
    with pytest.raises(ValidationError) as refusal:
        saved(account, **fields)
    assert sentence in faults(refusal)[field][0]


def test_only_what_changed_is_written_and_counts_the_version() -> None:
    account = make_account(credentials={"password": "hush"})
    assert saved(account, name="New", credentials={"password": "hush"}) == ["name"]
    account.refresh_from_db()
    assert (account.name, account.version, account.updated_at) == ("New", 2, NOW + HOUR)
    assert saved(account, 2) == []


def test_an_old_account_can_be_renamed_though_its_gateway_would_refuse_it_now(
    access: mock.Mock, settings: Settings
) -> None:
    account = make_account(credentials={"password": "hush"})
    access.side_effect = BadSettings({"gateway": "There is no such gateway."})
    settings.TIDELINE_SECRETS_KEYS = [NEW_KEY]
    account.refresh_from_db()
    assert saved(account, name="New") == ["name"]


def test_credentials_of_another_key_are_refused_with_the_remedy(settings: Settings) -> None:
    account = make_account(credentials={"password": "hush"})
    settings.TIDELINE_SECRETS_KEYS = [NEW_KEY]
    account.refresh_from_db()
    with pytest.raises(ValidationError) as refusal:
        saved(account, settings={"url": "https://example.org"})
    assert "TIDELINE_SECRETS_KEYS" in faults(refusal)["credentials"][0]


def test_an_account_that_somebody_else_saved_meanwhile_is_not_overwritten() -> None:
    account = make_account()
    saved(account, name="first")
    with pytest.raises(StaleVersion):
        saved(account, name="second")
    assert CarrierAccount.objects.get().name == "first"


def test_an_account_that_is_reached_otherwise_is_no_longer_left_in_peace() -> None:
    account = make_account(held_until=NOW + 5 * HOUR, held_class=ErrorClass.AUTH, held_reason="401", hold_count=3)
    saved(account, name="still held")
    assert CarrierAccount.objects.get().held_until is not None
    saved(account, 2, credentials=Secret.of('{"password": "new"}'))
    assert CarrierAccount.objects.get().held_until is None


def test_an_account_that_is_switched_off_forgets_its_order(django_capture_on_commit_callbacks: Any) -> None:
    account, queue = make_account(), Queue(connecting.client())
    make_cards(account, 3)
    rebuild(connecting.client(), account.pk, by="ann", now=NOW)
    with django_capture_on_commit_callbacks(execute=True):
        assert saved(account, active=False) == ["active"]
    assert (queue.ask(calls.count(account.pk)).epoch, list(queue.cards(account.pk))) == ("", [])


def test_an_account_with_cards_is_not_deleted() -> None:
    account = make_account(name="Acme")
    make_cards(account, 2)
    with pytest.raises(ValidationError, match=r"“Acme” has 2 cards\. Give them to another account"):
        defining.delete_account(account, expected_version=1)
    account.cards.all().delete()
    with pytest.raises(StaleVersion):
        defining.delete_account(account, expected_version=7)
    defining.delete_account(account, expected_version=1)
    assert not CarrierAccount.objects.exists()


# --- parameters --------------------------------------------------------------------------------------------------


def set_params(account: CarrierAccount, version: int = 0, **fields: Any) -> list[str]:
    params = PollingParams.objects.filter(pk=account.pk).first() or PollingParams(account=account)
    for name, value in fields.items():
        setattr(params, name, value)
    return defining.save_params(params, expected_version=version, now=NOW, actor="ann")


def test_first_parameters_make_the_row_and_later_ones_change_it() -> None:
    account = make_account()
    windows = [{"limit": 2, "seconds": 1}]
    assert set_params(account, rate_windows=windows, priority_max_ratio=Decimal("0.5")) == [
        "priority_max_ratio",
        "rate_windows",
    ]
    assert set_params(account, 1, inflight_limit=7, rate_windows=windows) == ["inflight_limit"]
    row = PollingParams.objects.get()
    assert (row.version, row.inflight_limit, row.changed_by, row.changed_at) == (2, 7, "ann", NOW)
    account = CarrierAccount.objects.select_related("params").get()
    assert "inflight_limit" not in accounts.params_of(account).defaults


def test_nothing_said_makes_no_row() -> None:
    assert set_params(make_account()) == []
    assert not PollingParams.objects.exists()


@pytest.mark.parametrize(
    ("fields", "field", "sentence"),
    [
        ({"rate_windows": [{"limit": 0, "seconds": 1}]}, "rate_windows", "whole number from 1"),
        ({"rate_windows": "5/s"}, "rate_windows", "Write the windows as a list"),
        (
            {"queue": "celery"},
            "queue",
            "is no queue of its own: write polling.card and a name, as in polling.card.acme",
        ),
        ({"queue": "polling.card."}, "queue", "is no queue of its own"),
        ({"queue": "polling.cards"}, "queue", "is no queue of its own"),
        ({"inflight_limit": 0}, "inflight_limit", "greater than or equal to 1"),
        ({"card_max_in_flight": 10_001}, "card_max_in_flight", "less than or equal to 10000"),
        ({"priority_max_ratio": Decimal("1.01")}, "priority_max_ratio", "less than or equal to 1"),
        ({"max_concurrency": 0}, "max_concurrency", "greater than or equal to 1"),
    ],
)
def test_parameters_that_cannot_be_used_are_refused(fields: dict[str, Any], field: str, sentence: str) -> None:
    with pytest.raises(ValidationError) as refusal:
        set_params(make_account(), **fields)
    assert sentence in faults(refusal)[field][0]
    assert not PollingParams.objects.exists()


@pytest.mark.parametrize("queue", ["polling.card", "polling.card.acme", "polling.card.acme-2.slow"])
def test_a_queue_of_its_own_begins_as_the_shared_one(queue: str) -> None:
    assert set_params(make_account(), queue=queue) == ["queue"]


def test_parameters_of_another_version_are_not_overwritten() -> None:
    account = make_account()
    with pytest.raises(StaleVersion):
        set_params(account, 1, inflight_limit=7)
    set_params(account, inflight_limit=7)
    with pytest.raises(StaleVersion):
        set_params(account, 0, inflight_limit=8)
    assert PollingParams.objects.get().inflight_limit == 7


def test_back_to_defaults_forgets_the_row() -> None:
    account = make_account()
    set_params(account, inflight_limit=7)
    assert [defining.back_to_defaults(account.pk) for _ in range(2)] == [True, False]


# --- tiers -------------------------------------------------------------------------------------------------------


def test_a_tier_is_saved_and_changed() -> None:
    tier = PollingTier(position=1, name="active", states=["active"], usage_seconds=3600)
    defining.save_new_tier(tier)
    tier.usage_seconds = 60
    assert defining.save_tier(tier, expected_version=1) == ["usage_seconds"]
    assert defining.save_tier(tier, expected_version=2) == []
    with pytest.raises(StaleVersion):
        defining.save_tier(tier, expected_version=1)
    assert PollingTier.objects.get().version == 2


@pytest.mark.parametrize(
    ("fields", "field", "sentence"),
    [
        ({"usage_seconds": 0}, "usage_seconds", "seconds from 1 to a year of them, or leave it empty"),
        ({"package_seconds": 400 * 86_400}, "package_seconds", "seconds from 1 to a year of them"),
        ({"usage_from_percent": 80, "usage_below_percent": 80}, "usage_below_percent", "Write more than 80"),
        ({"states": ["gone"]}, "states", "not a valid choice"),
        ({"real_name_states": ["maybe"]}, "real_name_states", "not a valid choice"),
        ({"name": ""}, "name", "cannot be blank"),
        ({"position": 1}, "position", "already exists"),
    ],
)
def test_a_tier_that_cannot_be_is_refused(fields: dict[str, Any], field: str, sentence: str) -> None:
    make_tier(position=1)
    with pytest.raises(ValidationError) as refusal:
        defining.save_new_tier(
            PollingTier(**({"position": 2, "name": "two", "usage_seconds": MINUTE.seconds} | fields))
        )
    assert sentence in " ".join(faults(refusal)[field])


def test_a_tier_that_checks_nothing_is_one() -> None:
    defining.save_new_tier(PollingTier(position=1, name="cancelled", states=["cancelled"]))
    assert PollingTier.objects.count() == 1

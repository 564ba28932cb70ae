"""The lists ask as often for two hundred rows as for ten, count nothing, and say at a glance how all is doing."""

from collections.abc import Iterator
from typing import Any
from unittest import mock

import pytest
from redis import Redis
from redis.exceptions import ConnectionError as RedisAway

from project.kit.clock import database_now
from scheduler.polling import connecting
from scheduler.polling.models import CardCheck, CarrierAccount, Device
from scheduler.polling.states import CheckType, ErrorClass
from tests.panel import chief, listed, queries_of, text_of
from tests.scheduler.polling.admin.desk import (
    LISTS,
    MODELS,
    list_of,
    make_failing,
    make_fleet,
    make_reached_account,
    member,
    page_of,
    put_in_order,
    viewer,
)
from tests.scheduler.polling.factories import HOUR, make_account, make_card, make_cards, make_checks, make_tier

pytestmark = [pytest.mark.django_db, pytest.mark.usefixtures("redis")]

HISTORY = ("cardcheck", "cardchange")


@pytest.fixture
def away() -> Iterator[None]:
    """Redis does not answer."""
    with mock.patch.object(connecting, "hasty_client") as client:
        client.return_value.pipeline.side_effect = RedisAway
        yield


def test_a_list_asks_as_often_for_two_hundred_rows_as_for_ten_and_counts_nothing() -> None:
    make_fleet(10)
    few = {model: queries_of(list_of(model)) for model in LISTS}
    make_fleet(190)
    for model in LISTS:
        many = queries_of(list_of(model))
        assert len(many) == len(few[model]), model
        assert not [sql for sql in many if "COUNT(" in sql.upper()], model


def test_redis_is_asked_as_often_for_ten_accounts_as_for_one() -> None:
    make_fleet(10)
    with mock.patch.object(Redis, "pipeline", autospec=True, side_effect=Redis.pipeline) as pipeline:
        text = text_of(chief().get(list_of("carrieraccount")))
    assert text.count("no order") == 10
    assert pipeline.call_count == 2  # the counts, and how far rebuilds are


@pytest.mark.parametrize("model", HISTORY)
def test_nobody_adds_changes_or_deletes_history(model: str) -> None:
    make_fleet(1)
    client = chief()
    row = client.get(list_of(model)).context["cl"].result_list[0]
    assert client.get(list_of(model) + "add/").status_code == 403
    assert client.post(page_of(row), {"value": "1"}).status_code in {403, 405}
    assert client.post(page_of(row, "delete"), {"post": "yes"}).status_code == 403


@pytest.mark.parametrize("model", LISTS)
def test_only_who_may_look_sees_a_list(model: str) -> None:
    assert member().get(list_of(model)).status_code == 403
    assert member(f"view_{model}").get(list_of(model)).status_code == 200


def test_nothing_is_deleted_past_the_domain() -> None:
    make_fleet(1)
    client = chief()
    for row in (make_reached_account(), make_card(), make_tier(), Device.objects.get()):
        assert client.post(page_of(row, "delete"), {"post": "yes"}).status_code == 403
        assert type(row)._default_manager.filter(pk=row.pk).exists()  # type: ignore[attr-defined]


def test_the_navigation_leads_to_every_list_and_not_to_the_parameters() -> None:
    apps = chief().get("/admin/").context["app_list"]
    names = [model["object_name"] for app in apps if app["app_label"] == "polling" for model in app["models"]]
    assert names == [
        *("CarrierAccount", "Card", "CardCheck", "PollingTier", "CheckScene", "CheckRequest", "Confirmation"),
        *("CardOperation", "CardChange", "Device", "SystemSetting", "Cutover"),
    ]
    assert len(MODELS) == len(names) + 1


# --- accounts ------------------------------------------------------------------------------------------------------


def test_an_account_says_whether_it_is_polled_how_many_cards_are_in_order_and_how_fast_it_is_asked() -> None:
    account = make_reached_account(name="Acme")
    make_cards(account, 3, now=database_now())
    make_tier(usage_seconds=1, card_status_seconds=None)
    put_in_order(account)
    text = text_of(chief().get(list_of("carrieraccount")))
    assert "Acme polled JSON over HTTP cards 3" in text
    assert "5 each 1 s at most 200" in text


def test_an_account_that_is_held_says_until_when_and_why() -> None:
    until = database_now() + 2 * HOUR
    make_account(name="Acme", held_until=until, held_class=ErrorClass.THROTTLED, held_reason="429")
    make_account(name="Beta", held_until=until, held_reason="ann: the carrier moves")
    text = text_of(chief().get(list_of("carrieraccount")))
    assert "Acme held" in text
    assert "1 h 59 min throttled" in text
    assert "1 h 59 min by a person" in text


def test_accounts_that_are_off_or_without_their_order_say_so() -> None:
    make_account(name="Acme", active=False)
    make_account(name="Beta")
    text = text_of(chief().get(list_of("carrieraccount")))
    assert "Acme off" in text
    assert "Beta no order" in text


@pytest.mark.usefixtures("away")
def test_the_list_is_there_while_redis_is_away_and_says_so() -> None:
    make_account(name="Acme")
    assert "Acme not known" in text_of(chief().get(list_of("carrieraccount")))


def test_accounts_are_found_by_what_people_ask() -> None:
    held, off = make_account(held_until=database_now() + HOUR, held_reason="x"), make_account(active=False)
    make_account(held_until=database_now() - HOUR, held_reason="over")
    client = chief()
    assert listed(client.get(list_of("carrieraccount", "?show=held"))) == [held.pk]
    assert listed(client.get(list_of("carrieraccount", "?show=off"))) == [off.pk]


def test_no_list_reads_credentials() -> None:
    make_fleet(1)
    for model in LISTS:
        assert not [sql for sql in queries_of(list_of(model)) if '"credentials"' in sql], model
    assert CarrierAccount.objects.count() == 1


# --- cards ---------------------------------------------------------------------------------------------------------


def test_a_card_says_how_it_stands_what_is_used_and_what_fails() -> None:
    card = make_card(make_account(name="Acme"), state="active", real_name_state="verified", package="10 MB")
    card.used_bytes, card.allowance_bytes = 9_500_000, 10_000_000
    card.save()
    make_failing(card)
    text = text_of(chief().get(list_of("card")))
    assert f"{card.iccid} Acme active real name verified 10 MB 95 % 9.5 MB / 10 MB polled on fails usage" in text


@pytest.mark.parametrize(("field", "number"), [("msisdn", "8613800000001"), ("imsi", "460001234567890")])
def test_cards_are_found_by_their_numbers(field: str, number: str) -> None:
    card = make_card(**{field: number})
    make_cards(card.account, 2)
    client = chief()
    assert listed(client.get(list_of("card", f"?q={number}"))) == [card.pk]
    assert listed(client.get(list_of("card", f"?q={card.iccid[:4]} {card.iccid[4:]}"))) == [card.pk]


def test_cards_are_found_by_account_state_real_name_device_and_whether_they_fail() -> None:
    device = Device.objects.create(code="meter-7")
    card = make_card(state="stopped", real_name_state="needed", device=device)
    make_failing(card)
    make_card(state="active", polling_enabled=False)
    client = chief()
    for query in (
        f"?account={card.account_id}",
        "?state__exact=stopped",
        "?real_name_state__exact=needed",
        f"?device={device.pk}",
        "?show=failing",
    ):
        assert listed(client.get(list_of("card", query))) == [card.pk], query


# --- checks, changes, devices --------------------------------------------------------------------------------------


def test_failing_checks_are_shown_and_all_of_them_when_asked_for() -> None:
    cards = make_cards(make_account(), 2)
    make_checks(cards, CheckType.CARD_STATUS, value="active", succeeded_at=database_now())
    earlier = make_failing(cards[0], last_failed_at=database_now() - HOUR)
    later = make_failing(cards[1], error_class=ErrorClass.CARD_MISSING)
    client = chief()
    assert listed(client.get(list_of("cardcheck"))) == [later.pk, earlier.pk]
    assert len(listed(client.get(list_of("cardcheck", "?show=all")))) == 4
    assert listed(client.get(list_of("cardcheck", "?error=card_missing"))) == [later.pk]
    assert listed(client.get(list_of("cardcheck", f"?card={cards[0].pk}"))) == [earlier.pk]
    assert CardCheck.objects.filter(failures__gt=0).count() == 2


def test_a_failing_check_says_how_often_why_and_since_when() -> None:
    make_failing(make_card())
    assert "failed 3 times" in (text := text_of(chief().get(list_of("cardcheck"))))
    assert "no answer in time No answer within 20 s. since 1 h ago" in text


def test_a_change_is_told_in_words() -> None:
    make_fleet(1)
    assert "state active → stopped" in text_of(chief().get(list_of("cardchange")))


def test_a_device_shows_its_cards_and_whose_they_are() -> None:
    device = Device.objects.create(code="meter-7", name="Meter")
    cards = [make_card(make_account(name=name), device=device) for name in ("Acme", "Beta")]
    text = text_of(viewer().get(list_of("device")))
    assert f"meter-7 Meter {cards[0].iccid} Acme {cards[1].iccid} Beta" in text
    page: Any = chief().get(page_of(device))
    assert cards[1].iccid in text_of(page)

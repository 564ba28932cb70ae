"""A card's page says why it is not asked and what is known of it; what people do with cards goes through the life
cycle and the live order.
"""

from collections.abc import Iterator
from typing import Any
from unittest import mock

import pytest
from django.contrib.admin.models import LogEntry
from django.db import connection
from django.test import Client
from django.test.utils import CaptureQueriesContext
from redis.exceptions import ConnectionError as RedisAway

from project.kit.clock import database_now
from scheduler.polling import connecting
from scheduler.polling.fleet import lifecycle
from scheduler.polling.models import Card, CardChange, Device
from scheduler.polling.queue import Queue, calls
from scheduler.polling.states import CheckType
from tests.panel import asked_by, chief, errors_of, posted_by, text_of, told
from tests.scheduler.polling.admin.desk import (
    confirm,
    list_of,
    make_failing,
    make_reached_account,
    page_of,
    put_in_order,
    raise_alert_of,
    viewer,
)
from tests.scheduler.polling.factories import HOUR, iccid, make_account, make_card, make_checks, make_tier

pytestmark = [pytest.mark.django_db, pytest.mark.usefixtures("redis")]

ADD = list_of("card", "add/")
FORM = "card_form"


@pytest.fixture
def card() -> Card:
    """A card in the live order of its account, of which nothing is due soon."""
    made = make_card(make_reached_account(), now=database_now())
    make_tier(usage_seconds=86_400)
    later = database_now() + HOUR
    make_checks([made], CheckType.USAGE, value=5_000_000, unit="B", succeeded_at=database_now(), due_at=later)
    make_checks([made], CheckType.CARD_STATUS, value="active", succeeded_at=database_now(), due_at=later)
    put_in_order(made.account)
    return made


@pytest.fixture
def away() -> Iterator[None]:
    """Redis does not answer."""
    with mock.patch.object(connecting, "hasty_client") as client:
        client.return_value.pipeline.side_effect = RedisAway
        yield


def asked_for(card: Card) -> set[CheckType]:
    """Return which checks of a card are asked for beside its schedule."""
    sight = Queue(connecting.client()).ask(calls.look(card.account_id, card.pk))
    return set() if sight is None else set(sight.asked)


def in_order(account_id: int) -> list[int]:
    """Return the cards that are in the live order of an account."""
    return list(Queue(connecting.client()).cards(account_id))


@pytest.mark.parametrize(
    ("action", "permission", "fields"),
    [
        ("check-now", "check_card", {}),
        ("polling-on", "change_card", {"polling_enabled": False}),
        ("polling-off", "change_card", {}),
        ("move", "change_card", {}),
        ("delete-card", "delete_card", {}),
        ("stop", "operate_card", {}),
        ("resume", "operate_card", {}),
    ],
)
def test_an_action_needs_its_own_permission(action: str, permission: str, fields: dict[str, Any]) -> None:
    card = make_card(**fields)
    assert page_of(card, "action", action) not in viewer().get(page_of(card)).content.decode()
    assert viewer().post(page_of(card, "action", action), {}).status_code == 403
    assert page_of(card, "action", action) in viewer(permission).get(page_of(card)).content.decode()


# --- the page ------------------------------------------------------------------------------------------------------


def test_the_page_says_why_the_card_is_not_asked(card: Card) -> None:
    client = chief()
    assert "Card status, each 1 d" in text_of(client.get(page_of(card)))
    lifecycle.disable([card.pk], now=database_now())
    assert "Its polling is switched off." in text_of(client.get(page_of(card)))


def test_the_page_shows_its_checks_its_changes_its_alerts_and_its_neighbours(card: Card) -> None:
    device = Device.objects.create(code="meter-7")
    other = make_card(make_account(name="Beta"), device=device)
    Card.objects.filter(pk=card.pk).update(device=device, used_bytes=5_000_000, allowance_bytes=10_000_000)
    make_failing(card, CheckType.PACKAGE)
    raise_alert_of(card)
    CardChange.objects.create(card=card, field="used_bytes", before="4000000", after="5000000", at=database_now())
    text = text_of(chief().get(page_of(card)))
    assert "Usage well 5 MB" in text
    assert "Card status well active" in text
    assert "Package failed 3 times" in text
    assert "no answer in time No answer within 20 s." in text
    assert f"Card {card.iccid}: usage open" in text
    assert "used 4 MB → 5 MB" in text
    assert f"{other.iccid} Beta" in text


def test_the_page_is_there_while_redis_is_away(card: Card, away: None) -> None:
    response = chief().get(page_of(card))
    assert response.status_code == 200
    assert "Redis" in text_of(response)


def test_the_page_asks_a_fixed_number_of_questions(card: Card) -> None:
    client = chief()
    client.get(page_of(card))
    counted = []
    for more in (1, 50):
        for number in range(more):
            CardChange.objects.create(card=card, field="state", before=str(number), after="active", at=database_now())
        with CaptureQueriesContext(connection) as captured:
            client.get(page_of(card))
        counted.append(len(captured))
    assert counted[0] == counted[1] <= 25


# --- checked now ---------------------------------------------------------------------------------------------------


def test_chosen_checks_are_asked_for_with_priority(card: Card) -> None:
    client = chief()
    response = confirm(client, card, "check-now", checks=["usage", "package"])
    assert told(response) == [f"{card.iccid} is asked about with priority."]
    assert asked_for(card) == {CheckType.USAGE, CheckType.PACKAGE}
    assert told(confirm(client, card, "check-now", checks=["usage"]))[-1].startswith(f"{card.iccid} is asked for alr")
    assert LogEntry.objects.filter(change_message="Check now").count() == 2


def test_a_check_of_nothing_is_refused(card: Card) -> None:
    assert "Choose at least one check." in text_of(confirm(chief(), card, "check-now"))
    assert asked_for(card) == set()


def test_a_check_is_not_asked_for_while_redis_is_away_and_that_is_said(card: Card, away: None) -> None:
    response = confirm(chief(), card, "check-now", checks=["usage"])
    assert "Redis does not answer" in told(response)[0]


def test_a_card_that_is_in_no_order_says_so() -> None:
    card = make_card(make_reached_account())
    assert "is not in the live order yet" in told(confirm(chief(), card, "check-now", checks=["usage"]))[0]


def test_a_card_that_is_not_polled_is_not_checked() -> None:
    card, client = make_card(polling_enabled=False), chief()
    assert told(client.get(page_of(card, "action", "check-now"))) == ["It is not polled. Switch its polling on first."]


def test_several_cards_are_checked_at_once_each_by_itself(card: Card) -> None:
    off, client = make_card(polling_enabled=False), chief()
    page = client.post(list_of("card"), {"action": "check-now", "_selected_action": [card.pk, off.pk]})
    seen = {f"seen-{line['row'].pk}": line["seen"] for line in page.context["lines"]}
    posted = {"row": [str(card.pk), str(off.pk)], "checks": ["usage"], "reason": "", **seen}
    response = client.post(page.context["post_to"], posted)
    assert told(response)[0] == "Check now: done for 1."
    assert "It is not polled." in told(response)[1]
    assert asked_for(card) == {CheckType.USAGE}


# --- polled or not, whose ------------------------------------------------------------------------------------------


def test_polling_is_switched_off_and_on_in_rows_and_order(card: Card, django_capture_on_commit_callbacks: Any) -> None:
    client = chief()
    raise_alert_of(card)
    with django_capture_on_commit_callbacks(execute=True):
        confirm(client, card, "polling-off", reason="Its contract ended.")
    card.refresh_from_db()
    assert (card.polling_enabled, card.version, in_order(card.account_id)) == (False, 2, [])
    with django_capture_on_commit_callbacks(execute=True):
        confirm(client, card, "polling-on")
    card.refresh_from_db()
    assert (card.polling_enabled, in_order(card.account_id)) == (True, [card.pk])
    assert [(each.field, each.before, each.after) for each in CardChange.objects.order_by("id")] == [
        ("polling_enabled", "on", "off"),
        ("polling_enabled", "off", "on"),
    ]


def test_a_card_is_moved_to_another_account_in_rows_and_order(
    card: Card, django_capture_on_commit_callbacks: Any
) -> None:
    former, other, client = card.account_id, make_reached_account(name="Beta"), chief()
    put_in_order(other)
    with django_capture_on_commit_callbacks(execute=True):
        response = confirm(client, card, "move", account=other.pk, reason="It was sold.")
    assert told(response) == [f"{card.iccid} is a card of “Beta”."]
    assert (in_order(former), in_order(other.pk)) == ([], [card.pk])


def test_a_card_that_changed_meanwhile_is_asked_anew(card: Card) -> None:
    other, client = make_reached_account(), chief()
    page = client.get(page_of(card, "action", "move"))
    lifecycle.change({card.pk: {"msisdn": "8613800000001"}}, now=database_now())
    response = client.post(page_of(card, "action", "move"), asked_by(page, account=other.pk, reason="It was sold."))
    assert response.status_code == 409
    card.refresh_from_db()
    assert card.account_id != other.pk


def test_a_card_is_deleted_with_all_that_is_known_of_it(card: Card, django_capture_on_commit_callbacks: Any) -> None:
    with django_capture_on_commit_callbacks(execute=True):
        response = confirm(chief(), card, "delete-card", reason="Scrapped.")
    assert response.headers["Location"] == list_of("card")
    assert not Card.objects.exists()
    assert in_order(card.account_id) == []


# --- the form ------------------------------------------------------------------------------------------------------


def filled(client: Client, **values: Any) -> dict[str, Any]:
    """Return what a browser would post from the form of a new card that is right."""
    return posted_by(client.get(ADD), FORM) | {"iccid": iccid(7), "account": make_account().pk} | values


def test_a_card_is_added_and_comes_into_the_order(django_capture_on_commit_callbacks: Any) -> None:
    account, client, number = make_reached_account(), chief(), iccid(7)
    make_tier()
    Device.objects.create(code="meter-7")
    put_in_order(account)
    with django_capture_on_commit_callbacks(execute=True):
        typed = {"iccid": f"{number[:4]} {number[4:]}", "msisdn": "+86 138 0000 0001", "device": "meter-7"}
        response = client.post(ADD, filled(client, account=account.pk, **typed))
    card = Card.objects.get()
    assert response.headers["Location"] == page_of(card)
    assert (card.iccid, card.msisdn, str(card.device)) == (number, "8613800000001", "meter-7")
    assert in_order(account.pk) == [card.pk]


@pytest.mark.parametrize(
    ("field", "typed", "says"),
    [
        ("iccid", "8986000000000000000", "does not check the others"),
        ("iccid", "x", "is no number"),
        ("msisdn", "abc", "Write its digits alone."),
        ("device", "nowhere", "There is no device with the code “nowhere”."),
        ("reset_day", "32", "less than or equal to 31"),
    ],
)
def test_what_is_wrong_stands_on_its_field(field: str, typed: str, says: str) -> None:
    client = chief()
    errors = errors_of(client.post(ADD, filled(client, **{field: typed})))
    assert list(errors) == [field]
    assert says in errors[field][0]


def test_a_card_is_edited_through_the_life_cycle(card: Card) -> None:
    client = chief()
    form = posted_by(client.get(page_of(card, "edit")), FORM)
    client.post(page_of(card, "edit"), form | {"reset_day": "15"})
    card.refresh_from_db()
    assert (card.reset_day, card.version) == (15, 2)
    assert CardChange.objects.get().field == "reset_day"


def test_a_form_that_is_posted_back_changes_nothing(card: Card) -> None:
    client = chief()
    response = client.post(page_of(card, "edit"), posted_by(client.get(page_of(card, "edit")), FORM))
    assert response.headers["Location"] == page_of(card)
    card.refresh_from_db()
    assert card.version == 1


def test_who_saves_over_a_newer_version_is_shown_both(card: Card) -> None:
    client = chief()
    form = posted_by(client.get(page_of(card, "edit")), FORM) | {"reset_day": "15"}
    lifecycle.change({card.pk: {"reset_day": 20}}, now=database_now())
    response = client.post(page_of(card, "edit"), form)
    assert "15 20 you and them" in text_of(response)
    card.refresh_from_db()
    assert card.reset_day == 20

"""What people do with accounts: each by its permission, bound to what they saw, and told before it happens."""

from typing import Any

import pytest
from django.contrib.admin.models import LogEntry
from django.db import connection
from django.test.utils import CaptureQueriesContext

from project.kit.clock import database_now
from scheduler.polling import connecting, defining
from scheduler.polling.fleet.rebuilds import Rebuild
from scheduler.polling.models import CarrierAccount, PollingParams
from scheduler.polling.queue import Queue, calls
from scheduler.polling.states import ErrorClass
from tests.panel import asked_by, chief, name_of, text_of, told
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
from tests.scheduler.polling.factories import HOUR, MINUTE, make_cards, make_tier

pytestmark = [pytest.mark.django_db, pytest.mark.usefixtures("redis")]

HELD = {"held_class": ErrorClass.AUTH, "held_reason": "The key was refused."}


def held_account(**fields: Any) -> CarrierAccount:
    """Insert an account that is held for two more hours."""
    return make_reached_account(held_until=database_now() + 2 * HOUR, hold_count=3, **HELD | fields)


def ordered_account(cards: int = 2) -> CarrierAccount:
    """Insert an account with so many cards in order."""
    account = make_reached_account()
    make_cards(account, cards, now=database_now())
    make_tier()
    put_in_order(account)
    return account


@pytest.mark.parametrize(
    ("action", "permission", "fields"),
    [
        ("hold", "hold_carrieraccount", {}),
        ("release", "hold_carrieraccount", {"held_until": database_now, **HELD}),
        ("switch-off", "change_carrieraccount", {}),
        ("switch-on", "change_carrieraccount", {"active": False}),
        ("rebuild", "initialize_polling", {}),
        ("defaults", "change_pollingparams", {}),
        ("delete-account", "delete_carrieraccount", {}),
    ],
)
def test_an_action_needs_its_own_permission(action: str, permission: str, fields: dict[str, Any]) -> None:
    if "held_until" in fields:
        fields = fields | {"held_until": database_now() + HOUR}
    account = make_reached_account(**fields)
    PollingParams.objects.create(account=account, changed_at=database_now())
    assert page_of(account, "action", action) not in viewer().get(page_of(account)).content.decode()
    assert viewer().post(page_of(account, "action", action), {}).status_code == 403
    assert page_of(account, "action", action) in viewer(permission).get(page_of(account)).content.decode()


def test_nothing_happens_by_opening_a_confirmation() -> None:
    account = held_account()
    before, client = str(CarrierAccount.objects.values().get()), chief()
    for action in ("hold", "release", "switch-off", "rebuild", "delete-account"):
        assert client.get(page_of(account, "action", action)).status_code == 200
    assert str(CarrierAccount.objects.values().get()) == before


# --- hold and release ----------------------------------------------------------------------------------------------


def test_an_account_is_held_for_so_many_minutes_and_says_who_wanted_it_and_why() -> None:
    account, client = make_reached_account(), chief()
    before = database_now()
    confirm(client, account, "hold", minutes="30", reason="The carrier moves.")
    account.refresh_from_db()
    assert account.held_until is not None
    assert before + 30 * MINUTE <= account.held_until <= database_now() + 30 * MINUTE
    assert (account.held_class, account.hold_count) == ("", 0)
    assert account.held_reason == f"{name_of(client)}: The carrier moves."
    assert "The carrier moves. It is asked again in 29 min" in text_of(client.get(page_of(account)))
    assert LogEntry.objects.get().change_message == "Hold: The carrier moves."


def test_a_hold_needs_a_reason() -> None:
    account, client = make_reached_account(), chief()
    assert "This field is required." in text_of(confirm(client, account, "hold", minutes="30"))
    account.refresh_from_db()
    assert account.held_until is None


def test_a_held_account_is_released_and_asked_at_once() -> None:
    account, client = held_account(), chief()
    assert "The key was refused." in text_of(client.get(page_of(account, "action", "release")))
    confirm(client, account, "release")
    account.refresh_from_db()
    assert (account.held_until, account.held_reason) == (None, "")


def test_what_was_confirmed_of_another_hold_is_asked_anew() -> None:
    account, client = held_account(), chief()
    page = client.get(page_of(account, "action", "release"))
    CarrierAccount.objects.update(held_until=database_now() + 9 * HOUR, held_reason="Another one.")
    response = client.post(page_of(account, "action", "release"), asked_by(page))
    assert response.status_code == 409
    assert "It changed while you were looking at it." in text_of(response)
    assert "Another one." in text_of(response)
    account.refresh_from_db()
    assert account.held_until is not None


def test_several_accounts_are_held_at_once() -> None:
    accounts, client = [make_reached_account() for _ in range(2)], chief()
    selected = {"action": "hold", "_selected_action": [account.pk for account in accounts]}
    page = client.post(list_of("carrieraccount"), selected)
    keys = [str(line["row"].pk) for line in page.context["lines"]]
    seen = {f"seen-{line['row'].pk}": line["seen"] for line in page.context["lines"]}
    client.post(page.context["post_to"], {"row": keys, "minutes": "5", "reason": "Maintenance.", **seen})
    assert CarrierAccount.objects.filter(held_until__gt=database_now()).count() == 2


# --- on and off, the order -----------------------------------------------------------------------------------------


def test_an_account_is_switched_off_and_on(django_capture_on_commit_callbacks: Any) -> None:
    account, client = ordered_account(), chief()
    with django_capture_on_commit_callbacks(execute=True):
        confirm(client, account, "switch-off", reason="Its contract ended.")
    account.refresh_from_db()
    assert (account.active, account.version) == (False, 2)
    assert list(Queue(connecting.client()).cards(account.pk)) == []
    assert "It is off: none of its cards is polled." in text_of(client.get(page_of(account)))
    confirm(client, account, "switch-on")
    account.refresh_from_db()
    assert (account.active, account.version) == (True, 3)


def test_a_rebuild_forgets_the_order_so_that_the_dispatcher_has_it_built(
    django_capture_on_commit_callbacks: Any,
) -> None:
    account, client, queue = ordered_account(), chief(), Queue(connecting.client())
    assert queue.ask(calls.count(account.pk)).epoch
    with django_capture_on_commit_callbacks(execute=True):
        response = confirm(client, account, "rebuild")
    assert "is built anew" in told(response)[0]
    assert not queue.ask(calls.count(account.pk)).epoch
    assert "no order" in text_of(client.get(page_of(account)))


def test_an_order_that_is_being_rebuilt_is_left_alone(django_capture_on_commit_callbacks: Any) -> None:
    account, client = ordered_account(), chief()
    at_it = Rebuild(connecting.client(), account.pk)
    assert at_it.taken()
    at_it.begin("ann", 100, database_now())
    with django_capture_on_commit_callbacks(execute=True):
        response = confirm(client, account, "rebuild")
    assert told(response) == ["It is being rebuilt just now, as ann wanted."]
    assert Queue(connecting.client()).ask(calls.count(account.pk)).epoch
    text = text_of(client.get(page_of(account)))
    assert "Latest rebuild of the order: under way 0 % 0 / 100 by ann" in text
    at_it.let_go()


def test_parameters_go_back_to_their_defaults() -> None:
    account, client = make_reached_account(), chief()
    params = PollingParams(account=account, inflight_limit=7)
    defining.save_params(params, expected_version=0, now=database_now(), actor="ann")
    confirm(client, account, "defaults", reason="A new contract.")
    assert not PollingParams.objects.exists()
    response = client.get(page_of(account, "action", "defaults"))
    assert told(response)[-1] == "All of its parameters are the usual ones already."


def test_an_account_without_cards_is_deleted_and_one_with_cards_is_not() -> None:
    account, full, client = make_reached_account(), make_reached_account(), chief()
    make_cards(full, 1)
    response = confirm(client, account, "delete-account", reason="A mistake.")
    assert response.headers["Location"] == list_of("carrieraccount")
    assert list(CarrierAccount.objects.all()) == [full]
    assert "It has cards." in told(client.get(page_of(full, "action", "delete-account")))[-1]


# --- the page ------------------------------------------------------------------------------------------------------


def test_the_page_shows_what_is_in_order_what_fails_and_what_was_told() -> None:
    account = ordered_account(cards=3)
    card = account.cards.first()
    assert card is not None
    make_failing(card)
    raise_alert_of(card)
    CarrierAccount.objects.update(credentials="")
    text = text_of(chief().get(page_of(account)))
    assert "Cards in order 3" in text
    assert f"{card.iccid} usage failed 3 times no answer in time" in text
    assert "Credentials none stored" in text


def test_the_page_asks_as_often_for_two_hundred_cards_as_for_ten() -> None:
    account, client = make_reached_account(), chief()
    counted = []
    for cards in (10, 190):
        for card in make_cards(account, cards):
            make_failing(card)
        with CaptureQueriesContext(connection) as captured:
            assert client.get(page_of(account)).status_code == 200
        counted.append(len(captured))
    assert counted[0] == counted[1]

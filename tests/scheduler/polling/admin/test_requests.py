"""Scenes are changed with a version lock; requests and the looks that follow them can be seen, and not changed."""

from typing import Any

import pytest
from django.db import connection
from django.test import Client
from django.test.utils import CaptureQueriesContext

from project.kit.clock import database_now
from scheduler.polling import connecting, passing_on, requesting, scenes
from scheduler.polling.models import CheckScene, Confirmation
from scheduler.polling.passing_requests import YOUNG
from scheduler.polling.states import CheckType
from tests.panel import chief, errors_of, listed, name_of, posted_by, text_of
from tests.scheduler.polling.admin.desk import list_of, member, page_of, put_in_order
from tests.scheduler.polling.factories import NOW, make_account, make_cards

pytestmark = [pytest.mark.django_db, pytest.mark.usefixtures("redis")]

FORM = "checkscene_form"


def order() -> CheckScene:
    return CheckScene.objects.get(pk="order_paid")


def opened(client: Client, scene: CheckScene, **values: Any) -> dict[str, Any]:
    """Open the scene's form, and return what the browser would post back with these values."""
    return posted_by(client.get(page_of(scene)), FORM) | {"types": scene.types} | values


def ask(event_id: str, count: int = 1) -> None:
    """Ask for cards of a new account because of an order, and pass it on."""
    account = make_account()
    cards = make_cards(account, count)
    put_in_order(account)
    expected = {CheckType.PACKAGE: "gold"}
    requesting.request_check(
        "order_paid", [card.pk for card in cards], event_id=event_id, actor="shop", now=NOW, expected=expected
    )
    passing_on.pass_on_due(connecting.client(), now=NOW + 2 * YOUNG)


def test_the_eight_scenes_are_there_from_the_start_and_can_all_be_followed() -> None:
    for scene in CheckScene.objects.all():
        scenes.check(scene)
        scene.full_clean()
    assert CheckScene.objects.filter(kind="event").count() == 5
    assert CheckScene.objects.filter(kind="read", cooldown_seconds__gt=0).count() == 3


def test_the_list_tells_what_each_scene_asks_for() -> None:
    text = text_of(chief().get(list_of("checkscene")))
    assert "Order paid order_paid business event on package, usage looks again after 60 s, 300 s, 1,800 s" in text


def test_a_form_that_is_posted_back_changes_nothing_and_a_change_says_who_made_it() -> None:
    client, scene = chief(), order()
    client.post(page_of(scene), opened(client, scene))
    assert order().version == 1
    client.post(page_of(scene), opened(client, scene, types=["usage"], confirm_delays="30,90", cooldown_seconds="5"))
    changed = order()
    assert (changed.types, changed.confirm_delays, changed.cooldown_seconds) == (["usage"], [30, 90], 5)
    assert changed.version == 2
    assert changed.changed_by == name_of(client)
    assert changed.changed_at is not None


@pytest.mark.parametrize(
    ("field", "value", "says"),
    [
        ("types", [], "This field is required."),
        ("confirm_delays", "0", "Item 1 in the array did not validate"),
        ("confirm_delays", "90000", "Write seconds from 1 to a day of them"),
        ("cooldown_seconds", "90000", "Write seconds from 0 to a day of them."),
    ],
)
def test_what_is_wrong_stands_on_its_field(field: str, value: Any, says: str) -> None:
    client, scene = chief(), order()
    errors = errors_of(client.post(page_of(scene), opened(client, scene, **{field: value})))
    assert list(errors) == [field]
    assert says in errors[field][0]
    assert order().version == 1


def test_who_saves_over_a_newer_version_is_shown_both() -> None:
    client, scene = chief(), order()
    form = opened(client, scene, types=["usage"])
    scenes.change(scene.pk, {"types": ["card_status"]}, actor="ann", now=database_now(), expected_version=1)
    text = text_of(client.post(page_of(scene), form))
    assert "Checks usage card status you and them" in text
    assert order().types == ["card_status"]


def test_who_may_only_look_can_change_nothing() -> None:
    client = member("view_checkscene", "view_checkrequest", "view_confirmation")
    for model in ("checkscene", "checkrequest", "confirmation"):
        assert client.get(list_of(model)).status_code == 200
        assert client.get(list_of(model, "add/")).status_code == 403
    assert client.post(page_of(order()), {"name": "x"}).status_code == 403


def test_a_request_tells_what_became_of_its_cards_and_leads_to_its_looks() -> None:
    ask("order:7", count=2)
    text = text_of(chief().get(list_of("checkrequest")))
    assert "order:7 cards 2 2 asked for looks shop" in text
    looks = chief().get(list_of("confirmation", f"?request={Confirmation.objects.all()[0].request_id}"))
    assert len(listed(looks)) == 4
    assert 'waiting expected "gold" looks 0 of 4' in text_of(looks)


def test_the_lists_take_as_many_queries_for_many_rows_as_for_one() -> None:
    client = chief()
    counted = []
    for event_id in ("first", "second"):
        ask(event_id, count=5)
        with CaptureQueriesContext(connection) as captured:
            client.get(list_of("checkrequest"))
            client.get(list_of("confirmation"))
        counted.append(len(captured))
    assert counted[0] == counted[1]


def test_a_cards_page_tells_at_what_is_looked_again() -> None:
    ask("order:9")
    text = text_of(chief().get(page_of(Confirmation.objects.all()[0].card)))
    assert "Looked at again all" in text
    assert "package gold" in text
    assert "order_paid order:9" in text

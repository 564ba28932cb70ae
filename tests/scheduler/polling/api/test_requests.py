"""Requests of checks over the API: by event, once, of cards and devices; and never by who may only read."""

from typing import Any

import pytest

from scheduler.polling.models import Card, CheckRequest, Device
from tests.kit.api.caller import Program, chief, chiefs_program, problem_of, token_of
from tests.scheduler.polling.factories import iccid, make_account, make_card

pytestmark = [pytest.mark.django_db, pytest.mark.usefixtures("redis")]

PAID = {"scene": "order_paid", "event_id": "order-4711"}


def test_a_check_of_a_card_is_asked_for_by_an_event() -> None:
    card, user = make_card(), chief()
    response = Program(token_of(user)).post(f"iot-cards/{card.iccid}/check/", PAID)
    assert response.status_code == 201, response.content
    made = response.json()
    assert (made["scene"], made["event_id"], made["cards"], made["actor"]) == (
        "order_paid",
        "order-4711",
        [card.pk],
        user.username,
    )
    assert CheckRequest.objects.get().pk == made["id"]


def test_the_same_event_asks_once() -> None:
    card, caller = make_card(), chiefs_program()
    first, second = (caller.post(f"iot-cards/{card.pk}/check/", PAID).json() for _ in range(2))
    assert first["id"] == second["id"]
    assert CheckRequest.objects.count() == 1


def test_a_business_event_has_a_name_and_an_opened_page_needs_none() -> None:
    card, caller = make_card(), chiefs_program()
    problem_of(caller.post(f"iot-cards/{card.pk}/check/", {"scene": "order_paid"}), 400)
    assert not CheckRequest.objects.exists()
    assert caller.post(f"iot-cards/{card.pk}/check/", {"scene": "asset_page_opened"}).status_code == 201


@pytest.mark.parametrize(
    ("said", "field"),
    [
        ({"scene": "nothing"}, "scene"),
        ({"scene": ""}, "scene"),
        ({"event_id": "x" * 201}, "event_id"),
        ({"expected": {"colour": "red"}}, "expected"),
        ({"expected": "active"}, "expected"),
    ],
)
def test_what_cannot_be_asked_for_is_refused(said: dict[str, Any], field: str) -> None:
    problem = problem_of(chiefs_program().post(f"iot-cards/{make_card().pk}/check/", PAID | said), 400)
    assert problem["errors"][0]["field"] == field
    assert not CheckRequest.objects.exists()


def test_an_event_may_be_of_many_cards_and_of_all_cards_of_devices() -> None:
    device = Device.objects.create(code="tracker-17")
    single, *inside = make_card(), make_card(device=device), make_card(device=device)
    said = PAID | {"cards": [single.iccid], "devices": ["tracker-17"], "expected": {"package": "10 MB"}}
    made = chiefs_program().post("polling-check-requests/", said)
    assert made.status_code == 201, made.content
    assert sorted(made.json()["cards"]) == sorted(card.pk for card in (single, *inside))
    assert made.json()["expected"] == {"package": "10 MB"}
    one = chiefs_program().get(f"polling-check-requests/{made.json()['id']}/").json()
    assert one["confirmations"]
    rows = chiefs_program().get("polling-check-requests/?event_id=order-4711&scene=order_paid").json()["results"]
    assert [row["id"] for row in rows] == [one["id"]]


@pytest.mark.parametrize(("field", "name"), [("cards", iccid(10**12)), ("devices", "nowhere")])
def test_a_name_that_is_not_known_refuses_the_whole_request(field: str, name: str) -> None:
    said: dict[str, Any] = {"cards": [make_card(make_account()).iccid]}
    said[field] = [*said.get(field, []), name]
    problem = problem_of(chiefs_program().post("polling-check-requests/", PAID | said), 400)
    assert (problem["errors"][0]["field"], name in problem["detail"]) == (field, True)
    assert not CheckRequest.objects.exists()


def test_who_may_only_read_asks_for_nothing() -> None:
    card: Card = make_card()
    reader = Program(token_of(chief(), "read"))
    problem_of(reader.post(f"iot-cards/{card.pk}/check/", {"scene": "asset_page_opened"}), 403)
    problem_of(reader.post("polling-check-requests/", PAID | {"cards": [card.iccid]}), 403)
    assert not CheckRequest.objects.exists()

"""Stops and resumes over the API: asked for once, followed, cancelled while they wait."""

from typing import Any

import pytest
from django.contrib.admin.models import LogEntry
from django.http import HttpResponse

from project.kit.clock import database_now
from scheduler.polling.models import Card, CardOperation, Confirmation
from tests.kit.api.caller import Program, chief, chiefs_program, problem_of, token_of
from tests.scheduler.polling.api.factories import make_operation
from tests.scheduler.polling.factories import make_card

pytestmark = [pytest.mark.django_db, pytest.mark.usefixtures("redis")]

REASON = {"reason": "Not paid"}


def asked(card: Card, kind: str = "stop", said: Any = REASON, **headers: str) -> HttpResponse:
    return chiefs_program().post(f"iot-cards/{card.iccid}/{kind}/", said, **headers)


@pytest.mark.parametrize("kind", ["stop", "resume"])
def test_the_answer_to_a_wish_is_the_operation_that_waits(kind: str) -> None:
    card, user = make_card(), chief()
    response = Program(token_of(user)).post(f"iot-cards/{card.pk}/{kind}/", REASON)
    assert response.status_code == 201
    shown = response.json()
    assert (shown["card"], shown["iccid"], shown["kind"], shown["state"]) == (card.pk, card.iccid, kind, "waiting")
    assert (shown["reason"], shown["actor"]) == ("Not paid", user.username)
    assert CardOperation.objects.get().pk == shown["id"]
    assert LogEntry.objects.get(object_id=str(card.pk)).change_message == (
        f"{kind.capitalize()} asked for through the API (Not paid). Token: script."
    )


@pytest.mark.parametrize("said", [{}, {"reason": " "}, {"reason": "x" * 501}])
def test_a_wish_says_why(said: dict[str, Any]) -> None:
    assert problem_of(asked(make_card(), said=said), 400)["errors"][0]["field"] == "reason"
    assert not CardOperation.objects.exists()


def test_the_same_key_asks_once() -> None:
    card, caller = make_card(), chiefs_program()
    first, second = (caller.post(f"iot-cards/{card.pk}/stop/", REASON, idempotency_key="k") for _ in range(2))
    assert first.json() == second.json()
    assert (CardOperation.objects.count(), LogEntry.objects.count()) == (1, 1)


def test_the_same_key_of_another_user_is_another_wish() -> None:
    one, other = make_card(), make_card()
    first, second = (asked(card, idempotency_key="k").json() for card in (one, other))
    assert first["id"] != second["id"]


def test_a_card_that_is_to_be_stopped_is_not_to_be_resumed() -> None:
    card = make_card()
    asked(card, "stop")
    assert problem_of(asked(card, "resume"), 409)["detail"]
    assert CardOperation.objects.get().kind == "stop"


def test_an_operation_is_cancelled_while_it_waits() -> None:
    operation, caller = make_operation(make_card()), chiefs_program()
    address = f"card-operations/{operation.pk}/cancel/"
    assert caller.post(address, {"reason": "Paid"}).json()["state"] == "cancelled"
    assert LogEntry.objects.get().change_message == "Cancel: Paid. Token: script."
    problem_of(caller.post(address), 409)


def test_operations_are_found_by_card_kind_and_state() -> None:
    now = database_now()
    waiting = make_operation(make_card())
    done = make_operation(make_card(), kind="resume", state="done", ended_at=now)
    for query, found in {
        f"card={waiting.card_id}": waiting,
        f"iccid={done.card.iccid}": done,
        f"account={done.account_id}": done,
        "kind=resume": done,
        "state=waiting": waiting,
    }.items():
        rows = chiefs_program().get(f"card-operations/?{query}").json()["results"]
        assert [row["id"] for row in rows] == [found.pk], query


def test_an_operation_alone_tells_the_looks_at_whether_it_was_done() -> None:
    operation, now = make_operation(make_card()), database_now()
    Confirmation.objects.create(
        card=operation.card, type="card_status", operation=operation, expected="stopped", delays=[60], due_at=now
    )
    [look] = chiefs_program().get(f"card-operations/{operation.pk}/").json()["confirmations"]
    assert (look["type"], look["expected"], look["delays"], look["state"]) == (
        "card_status",
        "stopped",
        [60],
        "waiting",
    )

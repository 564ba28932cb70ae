"""People stop and resume cards with a reason, see how far it got and why, and cancel what was not sent yet."""

import pytest
from django.contrib.admin.models import LogEntry
from django.db import connection
from django.test.utils import CaptureQueriesContext

from project.kit.clock import database_now
from scheduler.polling import operations
from scheduler.polling.carriers.base import CarrierError
from scheduler.polling.models import Card, CardOperation
from scheduler.polling.operations import claiming
from scheduler.polling.states import ErrorClass, OperationKind, OperationState
from tests.panel import asked_by, chief, name_of, text_of
from tests.scheduler.polling.admin.desk import confirm, list_of, member, page_of, viewer
from tests.scheduler.polling.factories import make_account, make_card, make_cards
from tests.scheduler.polling.operations.desk import sent

pytestmark = [pytest.mark.django_db, pytest.mark.usefixtures("redis")]

LIST = list_of("cardoperation")


def ask(*cards: Card, kind: OperationKind = OperationKind.STOP) -> list[CardOperation]:
    """Ask for a change of the cards."""
    ids = [card.pk for card in cards]
    return operations.ask(kind, ids, reason="unpaid", actor="ann", idempotency_key="", now=database_now())


@pytest.mark.parametrize("kind", ["stop", "resume"])
def test_a_card_is_stopped_or_resumed_with_a_reason_that_is_kept(kind: str) -> None:
    card = make_card()
    client = viewer("operate_card")
    confirm(client, card, kind, reason="unpaid since May")
    operation = CardOperation.objects.get()
    assert (operation.card, operation.kind, operation.reason) == (card, kind, "unpaid since May")
    assert operation.actor == name_of(client)
    assert "unpaid since May" in LogEntry.objects.get().change_message


def test_without_a_reason_nothing_is_asked_for() -> None:
    card = make_card()
    confirm(viewer("operate_card"), card, "stop", reason="")
    assert not CardOperation.objects.exists()


def test_a_resume_while_a_stop_is_open_is_refused_with_the_remedy() -> None:
    card = make_card()
    ask(card)
    client = chief()
    response = client.post(
        page_of(card, "action", "resume"),
        asked_by(client.get(page_of(card, "action", "resume")), reason="paid"),
        follow=True,
    )
    assert "cancel it while it waits" in text_of(response)
    assert CardOperation.objects.count() == 1


def test_several_cards_are_stopped_from_the_list_and_the_others_are_not() -> None:
    one, two, _ = make_cards(make_account(), 3)
    client = chief()
    page = client.post(list_of("card"), {"action": "stop", "_selected_action": [one.pk, two.pk]})
    seen = {f"seen-{line['row'].pk}": line["seen"] for line in page.context["lines"]}
    client.post(page.context["post_to"], {"row": [str(one.pk), str(two.pk)], "reason": "unpaid", **seen})
    assert {operation.card_id for operation in CardOperation.objects.all()} == {one.pk, two.pk}


def test_the_page_of_a_card_shows_its_operations_with_their_reasons() -> None:
    card = make_card()
    ask(card)
    text = text_of(chief().get(page_of(card)))
    assert "Stops and resumes" in text
    assert "stop waiting" in text
    assert "unpaid" in text


def test_the_page_of_an_operation_says_where_it_stands_and_what_the_carrier_said() -> None:
    operation = sent(make_card(), CarrierError(ErrorClass.STATE_FORBIDS, "Not in this state."))
    text = text_of(chief().get(page_of(operation)))
    assert "failed" in text
    assert "Not in this state." in text
    assert "unpaid" in text


def test_an_operation_without_an_answer_says_that_the_card_is_looked_at() -> None:
    operation = sent(make_card(), CarrierError(ErrorClass.TIMEOUT, "No answer within 20 s."))
    assert "no answer No answer within 20 s." in text_of(chief().get(page_of(operation)))


def test_what_waits_is_cancelled_by_whoever_may_operate_cards_and_nothing_else_is() -> None:
    one, other = make_cards(make_account(), 2)
    waiting, begun = ask(one, other)
    CardOperation.objects.filter(pk=begun.pk).update(
        state=OperationState.SENDING, lease_until=database_now() + claiming.CLAIM_LEASE
    )
    client = member("operate_card", "view_cardoperation")
    confirm(client, waiting, "cancel", reason="a mistake")
    waiting.refresh_from_db()
    assert (waiting.state, waiting.error[:9]) == (OperationState.CANCELLED, "Cancelled")
    assert page_of(begun, "action", "cancel") not in client.get(page_of(begun)).content.decode()
    assert member("view_cardoperation").post(page_of(waiting, "action", "cancel"), {}).status_code == 403


def test_the_list_asks_as_often_for_many_as_for_few_and_finds_cards_by_their_numbers() -> None:
    client, counted = chief(), []
    client.get(LIST)
    for _ in range(2):
        cards = make_cards(make_account(), 20)
        ask(*cards)
        with CaptureQueriesContext(connection) as captured:
            client.get(LIST)
        counted.append(len(captured))
    assert counted[0] == counted[1]
    assert cards[0].iccid in text_of(client.get(f"{LIST}?q={cards[0].iccid}"))
    assert cards[1].iccid not in text_of(client.get(f"{LIST}?q={cards[0].iccid}"))

"""Looks go on until what is expected is there, or every one was taken; what is lost on the way is asked for again."""

from datetime import datetime
from typing import Any

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext

from scheduler.polling import confirming, connecting, expecting, passing_on, requesting, settling
from scheduler.polling.carriers.base import CardRef, Reading
from scheduler.polling.confirming import Seen
from scheduler.polling.fleet import initializing
from scheduler.polling.looks import LATE, LONGEST
from scheduler.polling.models import Card, CardOperation, CheckRequest, CheckScene, Confirmation
from scheduler.polling.outcomes import Asked, Polled, Subject
from scheduler.polling.policy import Facts
from scheduler.polling.queue import Queue, calls
from scheduler.polling.queue.entries import Claim
from scheduler.polling.queue.keys import key_of
from scheduler.polling.states import CheckType, ConfirmationState, OperationState
from tests.scheduler.polling.factories import MINUTE, NOW, SECOND, make_card, make_tier
from tests.scheduler.polling.fleet.conftest import redis  # noqa: F401 - a fixture
from tests.scheduler.polling.fleets import put_in_order
from tests.scheduler.polling.gateways import NO_FAILURES

pytestmark = [pytest.mark.django_db, pytest.mark.usefixtures("redis")]

STATUS = CheckType.CARD_STATUS
ASKED = NOW + 5 * SECOND


@pytest.fixture
def card() -> Card:
    found = make_card()
    put_in_order(found.account)
    return found


def request(card: Card, event_id: str = "e", expected: Any = "stopped") -> CheckRequest:
    """Ask for the status, to be looked at again after 60 and 300 seconds, and pass it on."""
    CheckScene.objects.filter(code="stop_resume_succeeded").update(confirm_delays=[60, 300])
    wanted = {} if expected is None else {STATUS: expected}
    asked = requesting.request_check(
        "stop_resume_succeeded", [card.pk], event_id=event_id, actor="a", now=NOW, expected=wanted
    )
    scan(ASKED)
    return asked


def operate(card: Card) -> CardOperation:
    """Have the card looked at twice for an operation that its carrier took."""
    operation = CardOperation.objects.create(
        card=card,
        account=card.account,
        kind="stop",
        reason="lost",
        actor="a",
        idempotency_key="k",
        state="accepted",
        **dict.fromkeys(("created_at", "due_at", "sent_at", "accepted_at"), NOW),
    )
    expecting.expect([card.pk], STATUS, "stopped", [60, 120], operation=operation, now=NOW)
    return operation


def see(card: Card, at: datetime, value: str | None) -> None:
    """Let the carrier say that; None: it fails."""
    confirming.observe([Seen(card.pk, STATUS, at, None if value is None else Reading(value))], now=at)


def scan(now: datetime) -> str:
    return passing_on.pass_on_due(connecting.client(), now=now)


def the() -> Confirmation:
    return Confirmation.objects.get()


def asked(card: Card) -> dict[CheckType, datetime]:
    sight = Queue(connecting.client()).ask(calls.look(card.account_id, card.pk))
    assert sight is not None
    return dict(sight.asked)


# --- looks -----------------------------------------------------------------------------------------------------


def test_a_result_that_is_there_with_the_first_check_needs_no_look(card: Card) -> None:
    request(card)
    see(card, ASKED, "stopped")
    assert (the().state, the().looks, the().ended_at) == (ConfirmationState.CONFIRMED, 1, ASKED)
    assert scan(ASKED + MINUTE) == ""


def test_each_look_is_due_after_its_pause_from_the_end_of_the_check_before(card: Card) -> None:
    request(card)
    see(card, ASKED, "active")
    assert (the().due_at, the().delays, the().asked_at) == (ASKED + MINUTE, [300], None)
    second = ASKED + 3 * MINUTE
    see(card, second, "active")
    assert (the().due_at, the().delays, the().looks) == (second + 5 * MINUTE, [], 2)
    see(card, second + 5 * MINUTE, "active")
    assert (the().state, the().looks) == (ConfirmationState.OVER, 3)


def test_a_failed_check_is_a_look(card: Card) -> None:
    request(card)
    see(card, ASKED, None)
    assert (the().state, the().looks, the().due_at) == (ConfirmationState.WAITING, 1, ASKED + MINUTE)


def test_what_is_expected_of_nothing_is_looked_at_to_the_end(card: Card) -> None:
    request(card, expected=None)
    for at in (ASKED, ASKED + 10 * MINUTE, ASKED + 20 * MINUTE):
        assert the().state == ConfirmationState.WAITING
        see(card, at, "stopped")
    assert (the().state, the().looks) == (ConfirmationState.OVER, 3)


def test_a_check_from_before_the_event_says_nothing_of_it(card: Card) -> None:
    request(card)
    see(card, NOW - SECOND, "stopped")
    assert (the().state, the().looks) == (ConfirmationState.WAITING, 0)


def test_a_check_between_two_looks_that_shows_it_ends_them(card: Card) -> None:
    request(card)
    see(card, ASKED, "active")
    see(card, ASKED + SECOND, "stopped")
    assert the().state == ConfirmationState.CONFIRMED


def test_another_check_of_the_card_is_no_look(card: Card) -> None:
    request(card)
    confirming.observe([Seen(card.pk, CheckType.USAGE, ASKED, Reading("stopped"))], now=ASKED)
    assert (the().state, the().looks) == (ConfirmationState.WAITING, 0)


def test_what_pollers_settle_is_looked_at_in_one_statement_whether_anything_waits_or_not(card: Card) -> None:
    make_tier()
    statements = []
    for token in (1, 2):
        with CaptureQueriesContext(connection) as captured:
            settling.settle([polled(card, token)], now=ASKED)
        statements.append(sum("polling_confirmation" in query["sql"] for query in captured))
        request(card)
    assert statements == [1, 1]
    assert the().state == ConfirmationState.CONFIRMED


def polled(card: Card, token: int) -> Polled:
    known = (card.state, card.real_name_state, card.package, card.used_bytes, card.allowance_bytes, card.reset_day)
    one = Polled(
        Claim(card.account_id, card.pk, token, (STATUS,), NO_FAILURES),
        Subject(CardRef(card.pk, card.iccid), Facts(*known, "UTC")),
    )
    one.asked.append(Asked(STATUS, ASKED, Reading("stopped", columns={"state": "stopped"})))
    return one


# --- in the live order -----------------------------------------------------------------------------------------


def test_the_next_look_is_asked_for_from_when_it_is_due(card: Card) -> None:
    request(card)
    clear_order(card)
    see(card, ASKED, "active")
    assert scan(ASKED + 2 * SECOND) == "0 requests and 1 look passed on."
    assert the().asked_at == ASKED + MINUTE
    assert set(asked(card)) == {STATUS}
    assert scan(ASKED + 4 * SECOND) == ""


def test_a_look_whose_request_another_check_took_along_is_asked_for_again(card: Card) -> None:
    request(card)
    see(card, ASKED, "active")
    scan(ASKED + SECOND)
    see(card, ASKED + 2 * SECOND, "active")
    assert the().asked_at is None
    assert the().due_at == ASKED + MINUTE


def test_a_look_that_did_not_come_is_asked_for_again(card: Card) -> None:
    request(card)
    clear_order(card)
    assert scan(ASKED + LATE) == ""
    assert scan(ASKED + LATE + SECOND) == "0 requests and 1 look passed on."
    assert set(asked(card)) == {STATUS}


def test_a_lost_order_is_told_of_its_looks_when_it_is_built_anew(card: Card) -> None:
    make_tier()
    request(card)
    see(card, ASKED, "active")
    scan(ASKED)
    connecting.client().delete(*(key_of(card.account_id, name) for name in ("asked", "priority", "ready", "cards")))
    initializing.rebuild(connecting.client(), card.account_id, by="a", now=ASKED + SECOND)
    scan(ASKED + 2 * SECOND)
    assert set(asked(card)) == {STATUS}


def clear_order(card: Card) -> None:
    connecting.client().delete(*(key_of(card.account_id, name) for name in ("asked", "priority")))


def test_looks_at_a_card_that_is_not_polled_any_more_are_given_up(card: Card) -> None:
    request(card)
    see(card, ASKED, "active")
    Card.objects.update(polling_enabled=False)
    scan(ASKED + SECOND)
    assert (the().state, the().ended_at) == (ConfirmationState.OVER, ASKED + SECOND)


def test_a_look_that_nobody_can_take_is_given_up_in_the_end(card: Card) -> None:
    request(card)
    scan(NOW + LONGEST)
    assert the().state == ConfirmationState.WAITING
    scan(NOW + LONGEST + LATE + MINUTE)
    assert the().state == ConfirmationState.OVER


# --- operations ------------------------------------------------------------------------------------------------


def test_an_operation_whose_card_is_seen_so_is_done(card: Card) -> None:
    operation = operate(card)
    see(card, NOW + 30 * SECOND, "stopped")
    assert the().state == ConfirmationState.WAITING  # it may have been asked before the carrier took it
    see(card, NOW + MINUTE, "stopped")
    operation.refresh_from_db()
    assert (the().state, operation.state) == (ConfirmationState.CONFIRMED, OperationState.DONE)


def test_an_operation_whose_card_never_was_seen_so_is_told_of(card: Card) -> None:
    operation = operate(card)
    see(card, NOW + MINUTE, "active")
    see(card, NOW + 3 * MINUTE, "active")
    operation.refresh_from_db()
    assert (the().state, operation.state) == (ConfirmationState.OVER, OperationState.UNCONFIRMED)

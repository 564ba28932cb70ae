"""What the carrier says decides: accepted is looked for, trouble of the account waits, no answer is no refusal."""

from datetime import timedelta

import pytest

from alerts.models import Alert
from scheduler.polling.carriers.base import Busy, CarrierError
from scheduler.polling.models import CardOperation, Confirmation
from scheduler.polling.operations import looks, settling
from scheduler.polling.states import CardState, CheckType, ErrorClass, OperationState
from tests.scheduler.polling.factories import HOUR, MINUTE, NOW, SECOND
from tests.scheduler.polling.operations.desk import (
    RESUME,
    account_of,
    ask,
    begin,
    claim,
    fresh,
    make_changeable,
    sent,
)

pytestmark = pytest.mark.django_db


def error(error_class: ErrorClass, **known: float) -> CarrierError:
    """Return what a carrier says."""
    return CarrierError(error_class, "Said the carrier.", **known)  # type: ignore[arg-type]


@pytest.mark.parametrize("outcome", [None, error(ErrorClass.PENDING)])
def test_what_the_carrier_took_is_accepted_and_looked_for_after_the_confirm_delay(
    outcome: CarrierError | None,
) -> None:
    [card] = make_changeable(stop_resume_confirm_delay=60)
    operation = sent(card, outcome)
    assert (operation.state, operation.accepted_at, operation.error) == (OperationState.ACCEPTED, NOW, "")
    looked_for = Confirmation.objects.get(operation=operation)
    assert (looked_for.type, looked_for.expected) == (CheckType.CARD_STATUS, CardState.STOPPED)
    assert looked_for.due_at == NOW + MINUTE
    assert not Alert.objects.exists()


def test_a_resumed_card_is_looked_for_as_an_active_one() -> None:
    [card] = make_changeable()
    ask(card, kind=RESUME)
    [taken] = claim()
    assert begin(taken)
    assert settling.settle(taken, None, now=NOW)
    assert Confirmation.objects.get().expected == CardState.ACTIVE


def test_the_looks_grow_apart_and_a_delay_of_none_is_a_second() -> None:
    assert looks.delays(60) == (60, 120, 240, 480)
    assert looks.delays(0) == (1, 2, 4, 8)


@pytest.mark.parametrize(
    ("outcome", "due_after"),
    [
        (Busy(7), 7 * SECOND),
        (Busy(0), SECOND),
        (error(ErrorClass.COOLDOWN, retry_after=90), 90 * SECOND),
        (error(ErrorClass.COOLDOWN), timedelta(seconds=1200)),
        (CarrierError(ErrorClass.NETWORK, "Not reached.", unsent=True), settling.AWAY),
    ],
    ids=["busy", "busy for a moment", "cooldown", "cooldown of unknown length", "not reached"],
)
def test_what_only_has_to_wait_waits_on_and_nobody_is_told(outcome: CarrierError | Busy, due_after: timedelta) -> None:
    [card] = make_changeable(stop_resume_min_interval=1200)
    operation = sent(card, outcome)
    assert (operation.state, operation.due_at) == (OperationState.WAITING, NOW + due_after)
    assert (operation.sent_at, operation.lease_until) == (None, None)
    assert not Alert.objects.exists()
    assert not Confirmation.objects.exists()


@pytest.mark.parametrize(
    "error_class", [ErrorClass.THROTTLED, ErrorClass.AUTH, ErrorClass.QUOTA_EXHAUSTED, ErrorClass.TOKEN_EXPIRED]
)
def test_trouble_of_the_account_holds_the_account_and_the_operation_waits_for_its_end(error_class: ErrorClass) -> None:
    [card] = make_changeable()
    operation = sent(card, error(error_class, retry_after=300))
    account = account_of(card)
    assert (account.held_class, account.held_until) == (error_class, NOW + 300 * SECOND)
    assert (operation.state, operation.due_at) == (OperationState.WAITING, account.held_until)
    assert not Alert.objects.filter(kind="card_operation_failed").exists()


@pytest.mark.parametrize(
    "error_class", [ErrorClass.TIMEOUT, ErrorClass.NETWORK, ErrorClass.SERVER, ErrorClass.MALFORMED]
)
def test_after_no_answer_the_card_is_looked_at_and_the_change_is_not_asked_for_again(error_class: ErrorClass) -> None:
    [card] = make_changeable()
    operation = sent(card, error(error_class))
    assert (operation.state, operation.accepted_at, operation.error_class) == ("accepted", None, error_class)
    assert Confirmation.objects.filter(operation=operation).exists()
    assert not claim(now=NOW + HOUR)


@pytest.mark.parametrize("error_class", [ErrorClass.STATE_FORBIDS, ErrorClass.CARD_MISSING, ErrorClass.CARD_NOT_OWNED])
def test_a_refusal_of_the_card_ends_the_operation_and_is_told(error_class: ErrorClass) -> None:
    [card] = make_changeable()
    operation = sent(card, error(error_class))
    assert (operation.state, operation.ended_at, operation.error_class) == (OperationState.FAILED, NOW, error_class)
    alert = Alert.objects.get()
    assert (alert.kind, alert.subject) == ("card_operation_failed", f"card:{card.pk}")
    assert "Said the carrier." in alert.sentence


def test_a_second_refusal_of_the_same_card_is_counted_on_the_same_alert() -> None:
    [card] = make_changeable()
    sent(card, error(ErrorClass.STATE_FORBIDS))
    sent(card, error(ErrorClass.STATE_FORBIDS), now=NOW + MINUTE)
    assert Alert.objects.get().count == 2


def test_an_accepted_change_takes_a_hold_off_the_account_as_any_answer_does() -> None:
    [card] = make_changeable()
    sent(card, error(ErrorClass.THROTTLED, retry_after=60))
    [taken] = claim(now=NOW + HOUR)
    assert begin(taken, now=NOW + HOUR)
    assert settling.settle(taken, None, now=NOW + HOUR)
    assert account_of(card).hold_count == 0


def test_what_another_has_in_hand_by_now_is_not_written() -> None:
    [card] = make_changeable()
    [operation] = ask(card)
    [taken] = claim()
    CardOperation.objects.update(token=taken.token + 1)
    assert not settling.settle(taken, None, now=NOW)
    assert fresh(operation).state == OperationState.SENDING

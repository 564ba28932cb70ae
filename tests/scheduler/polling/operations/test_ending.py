"""An operation is done when its card was seen so; where that never comes, people are told which of the two it is."""

import pytest

from alerts.models import Alert
from scheduler.polling import holding, operations
from scheduler.polling.carriers.base import CarrierError
from scheduler.polling.models import Confirmation
from scheduler.polling.operations import ending, looks
from scheduler.polling.states import ConfirmationState, ErrorClass, OperationState
from tests.scheduler.polling.factories import HOUR, MINUTE, NOW, SECOND
from tests.scheduler.polling.operations.desk import account_of, ask, fresh, make_changeable, sent

pytestmark = pytest.mark.django_db
LOST = CarrierError(ErrorClass.TIMEOUT, "No answer within 20 s.")
REFUSED = CarrierError(ErrorClass.STATE_FORBIDS, "Not now.")


def open_alerts() -> list[str]:
    """Return the sentences of the open alerts."""
    return list(Alert.objects.filter(resolved_at__isnull=True).values_list("sentence", flat=True))


@pytest.mark.parametrize("outcome", [None, LOST])
def test_a_card_that_was_seen_so_ends_its_operation_and_resolves_its_alert(outcome: CarrierError | None) -> None:
    [card] = make_changeable()
    sent(card, REFUSED)
    operation = sent(card, outcome, now=NOW + MINUTE)
    assert open_alerts()
    operations.confirmed([operation.pk], NOW + 2 * MINUTE)
    assert (fresh(operation).state, fresh(operation).ended_at) == (OperationState.DONE, NOW + 2 * MINUTE)
    assert not open_alerts()


@pytest.mark.parametrize(
    ("outcome", "state", "said"),
    [
        (None, OperationState.UNCONFIRMED, "The carrier accepted it"),
        (LOST, OperationState.UNKNOWN, "The carrier gave no answer"),
    ],
)
def test_a_card_that_was_never_seen_so_ends_it_and_is_told(
    outcome: CarrierError | None, state: OperationState, said: str
) -> None:
    [card] = make_changeable()
    operation = sent(card, outcome)
    operations.never_seen([operation.pk], NOW + HOUR)
    assert (fresh(operation).state, fresh(operation).ended_at) == (state, NOW + HOUR)
    [sentence] = open_alerts()
    assert said in sentence


def test_what_ended_already_stays_as_it_is() -> None:
    [card] = make_changeable()
    operation = sent(card)
    operations.confirmed([operation.pk], NOW + MINUTE)
    operations.never_seen([operation.pk], NOW + HOUR)
    operations.confirmed([operation.pk], NOW + HOUR)
    assert (fresh(operation).state, fresh(operation).ended_at) == (OperationState.DONE, NOW + MINUTE)
    assert not open_alerts()


def test_after_an_end_the_card_can_be_asked_for_again() -> None:
    [card] = make_changeable()
    operation = sent(card)
    operations.never_seen([operation.pk], NOW + HOUR)
    assert ask(card, now=NOW + HOUR) != [operation]


def test_looking_is_given_up_an_hour_after_the_last_look_was_due() -> None:
    [card] = make_changeable(stop_resume_confirm_delay=60)
    operation = sent(card)
    over = NOW + looks.longest(account_of(card)) + ending.GRACE
    assert ending.give_up_looking(now=over - SECOND) == 0
    assert ending.give_up_looking(now=over) == 1
    assert fresh(operation).state == OperationState.UNCONFIRMED
    assert Confirmation.objects.get().state == ConfirmationState.CANCELLED


def test_the_looks_at_cards_of_a_held_account_are_only_late() -> None:
    [card] = make_changeable()
    operation = sent(card)
    day = NOW + 24 * HOUR
    holding.hold_by(card.account_id, day, actor="ann", reason="maintenance")
    assert ending.give_up_looking(now=day - HOUR) == 0
    assert fresh(operation).state == OperationState.ACCEPTED

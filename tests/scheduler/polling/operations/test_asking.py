"""Who asks for a change gets one operation a card: the same again where it was asked for, and a reason where not."""

from datetime import timedelta

import pytest
from django.core.exceptions import ValidationError
from pytest_django import DjangoCaptureOnCommitCallbacks

from scheduler.polling import operations, system_settings
from scheduler.polling.models import CardOperation
from scheduler.polling.operations import dispatching
from scheduler.polling.states import OperationState
from tests.scheduler.polling.factories import HOUR, MINUTE, NOW, make_card
from tests.scheduler.polling.operations.desk import RESUME, ask, begin, claim, fresh, make_changeable, sent

pytestmark = pytest.mark.django_db


def test_each_card_gets_one_operation_in_the_order_of_the_cards() -> None:
    one, other = make_changeable(2)
    asked = ask(other, one, other)
    assert [operation.card_id for operation in asked] == [other.pk, one.pk]
    assert {(operation.state, operation.due_at, operation.reason) for operation in asked} == {
        (OperationState.WAITING, NOW, "unpaid")
    }


def test_the_same_key_again_returns_the_same_operation_even_after_its_end() -> None:
    [card] = make_changeable()
    [first] = ask(card, key="order 7")
    operations.cancel(first.pk, actor="ann", now=NOW)
    assert ask(card, key="order 7") == [first]


def test_a_key_that_asked_for_the_other_kind_is_refused() -> None:
    [card] = make_changeable()
    [first] = ask(card, key="order 7")
    operations.cancel(first.pk, actor="ann", now=NOW)
    with pytest.raises(ValidationError, match="With this key a stop was asked for"):
        ask(card, kind=RESUME, key="order 7")


def test_an_open_operation_of_the_same_kind_is_returned_whatever_the_key() -> None:
    [card] = make_changeable()
    assert ask(card, key="one") == ask(card, key="other")


def test_an_open_operation_of_the_other_kind_refuses_all_cards_and_names_the_one() -> None:
    one, other = make_changeable(2)
    ask(one)
    with pytest.raises(ValidationError, match=f"Card {one.iccid}: a stop is open"):
        ask(other, one, kind=RESUME)
    assert CardOperation.objects.count() == 1


def test_without_a_reason_or_without_the_card_nothing_is_asked_for() -> None:
    [card] = make_changeable()
    with pytest.raises(ValidationError, match="Write why"):
        ask(card, reason=" ")
    gone = make_card()
    gone_id = gone.pk
    gone.delete()
    gone.pk = gone_id
    with pytest.raises(ValidationError, match=f"There is no card {gone_id}"):
        ask(card, gone)
    assert not CardOperation.objects.exists()


def test_a_key_that_would_not_fit_is_refused() -> None:
    [card] = make_changeable()
    with pytest.raises(ValidationError, match="at most 160 characters"):
        ask(card, key="x" * 161)


def test_the_next_change_of_a_card_waits_for_the_interval_since_the_last_one_that_was_accepted() -> None:
    card, other = make_changeable(2, stop_resume_min_interval=1800)
    done = sent(card)
    operations.confirmed([done.pk], NOW + MINUTE)
    resumed, fresh_one = ask(card, other, kind=RESUME, now=NOW + 2 * MINUTE)
    assert resumed.due_at == NOW + timedelta(seconds=1800)
    assert fresh_one.due_at == NOW + 2 * MINUTE
    assert [taken.card_id for taken in claim(now=NOW + 29 * MINUTE)] == [other.pk]
    assert [taken.card_id for taken in claim(now=NOW + 30 * MINUTE)] == [card.pk]


def test_a_cancelled_operation_starts_no_interval() -> None:
    [card] = make_changeable(stop_resume_min_interval=1800)
    operations.cancel(ask(card)[0].pk, actor="ann", now=NOW)
    assert ask(card, kind=RESUME)[0].due_at == NOW


def test_what_waits_can_be_cancelled_once_and_says_by_whom() -> None:
    [card] = make_changeable()
    [operation] = ask(card)
    assert operations.cancel(operation.pk, actor="bob", now=NOW)
    assert not operations.cancel(operation.pk, actor="bob", now=NOW)
    assert (fresh(operation).state, fresh(operation).error) == (OperationState.CANCELLED, "Cancelled by bob.")
    assert not claim()


def test_what_was_claimed_or_seen_in_another_version_is_not_cancelled() -> None:
    one, other = make_changeable(2)
    first, second = ask(one, other)
    assert not operations.cancel(first.pk, expected_version=2, actor="bob", now=NOW)
    taken = {each.operation_id: each for each in claim()}
    assert begin(taken[second.pk])
    assert not operations.cancel(second.pk, actor="bob", now=NOW)


@pytest.mark.parametrize("queued", [True, False])
def test_without_the_queue_an_operation_is_sent_as_soon_as_it_is_committed(
    queued: bool,
    monkeypatch: pytest.MonkeyPatch,
    django_capture_on_commit_callbacks: DjangoCaptureOnCommitCallbacks,
) -> None:
    rounds = []
    monkeypatch.setattr(dispatching, "send_due", lambda *, now: rounds.append(now))
    system_settings.change("polling.stop_resume.queue_enabled", queued, actor="ann", now=NOW)
    system_settings.current.forget()
    [card] = make_changeable()
    with django_capture_on_commit_callbacks(execute=True):
        ask(card, now=NOW + HOUR)
    assert rounds == ([] if queued else [NOW + HOUR])

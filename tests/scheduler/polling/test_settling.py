"""What carriers said is written: fenced, once, and each card for itself."""

from collections.abc import Mapping
from datetime import timedelta
from typing import Any

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext

from alerts.models import Alert
from scheduler.polling import settling, system_settings, tiers
from scheduler.polling.carriers.base import CardRef, CarrierError, Reading
from scheduler.polling.models import Card, CardChange, CardCheck, CarrierAccount
from scheduler.polling.outcomes import Asked, Polled, Settled, Subject
from scheduler.polling.policy import Facts
from scheduler.polling.queue.entries import Claim, Finish
from scheduler.polling.states import CheckType, ErrorClass
from tests.scheduler.polling.factories import HOUR, MINUTE, NOW, SECOND, make_account, make_card, make_cards, make_tier
from tests.scheduler.polling.gateways import NO_FAILURES, SERVER_ERROR, THROTTLED

pytestmark = pytest.mark.django_db

STATUS, USAGE, PACKAGE = CheckType.CARD_STATUS, CheckType.USAGE, CheckType.PACKAGE
MISSING = CarrierError(ErrorClass.CARD_MISSING, "There is no such card.", "404")
COOLING = CarrierError(ErrorClass.COOLDOWN, "Once in 15 minutes.", "429", retry_after=900)


@pytest.fixture(autouse=True)
def _hourly() -> None:
    make_tier(usage_seconds=3600, card_status_seconds=7200)
    tiers.current.forget()
    system_settings.current.forget()


def used(count: int, **columns: Any) -> Reading:
    return Reading(count, "B", as_of=NOW, columns={"used_bytes": count, **columns})


def polled(
    card: Card, *asked: tuple[CheckType, Reading | CarrierError], token: int = 1, failures: Mapping[CheckType, int] = {}
) -> Polled:
    """Return a card that was asked about, of which the carrier said such things."""
    claim = Claim(card.account_id, card.pk, token, tuple(check for check, _ in asked), {**NO_FAILURES, **failures})
    known = (card.state, card.real_name_state, card.package, card.used_bytes, card.allowance_bytes, card.reset_day)
    one = Polled(claim, Subject(CardRef(card.pk, card.iccid), Facts(*known, "UTC")))
    for check, outcome in asked:
        reading = outcome if isinstance(outcome, Reading) else None
        error = outcome if isinstance(outcome, CarrierError) else None
        one.asked.append(Asked(check, NOW, reading, error))
    return one


def settle(*cards: Polled, now: Any = NOW) -> Settled:
    return settling.settle(cards, now=now)


def finish_of(settled: Settled, card: Card) -> Finish:
    (finish,) = [one for one in settled.finishes[card.account_id] if one.card_id == card.pk]
    return finish


# --- answers ---------------------------------------------------------------------------------------------------


def test_an_answer_is_kept_with_its_unit_and_as_of_and_is_due_again_after_its_interval() -> None:
    card = make_card()
    settled = settle(polled(card, (USAGE, used(7_000_000)), token=5))
    check = CardCheck.objects.get(card=card)
    assert (check.value, check.unit, check.as_of, check.succeeded_at, check.token) == (7_000_000, "B", NOW, NOW, 5)
    assert check.due_at is not None
    assert abs(check.due_at - (NOW + HOUR)) <= MINUTE
    assert finish_of(settled, card).due == {USAGE: check.due_at}
    assert finish_of(settled, card).failures == {USAGE: 0}


def test_what_the_carrier_says_changes_the_card_and_what_it_was_is_kept() -> None:
    card = make_card(state="active", used_bytes=1)
    settle(polled(card, (STATUS, Reading("stopped", columns={"state": "stopped"})), (USAGE, used(2))))
    card.refresh_from_db()
    assert (card.state, card.used_bytes) == ("stopped", 2)
    assert list(CardChange.objects.values_list("card", "field", "before", "after")) == [
        (card.pk, "state", "active", "stopped")
    ]


def test_what_was_not_known_before_and_what_is_not_known_any_more_is_kept_as_empty() -> None:
    card = make_card()
    for said in (Reading("p", columns={"package": "p", "allowance_bytes": 100}), used(1, allowance_bytes=None)):
        settle(polled(card, (CheckType.PACKAGE, said)))
        card.refresh_from_db()
    changes = CardChange.objects.filter(field="allowance_bytes").order_by("pk")
    assert list(changes.values_list("before", "after")) == [("", "100"), ("100", "")]


def test_a_card_of_which_nothing_changed_is_not_written() -> None:
    card = make_card(state="active")
    settle(polled(card, (STATUS, Reading("active", columns={"state": "active"}))), now=NOW + HOUR)
    card.refresh_from_db()
    assert card.updated_at == NOW
    assert not CardChange.objects.exists()


def test_a_state_that_changes_the_tier_changes_when_the_card_is_due_again() -> None:
    make_tier(position=0, states=["stopped"], usage_seconds=86_400, card_status_seconds=None)
    tiers.current.forget()
    card = make_card(state="active")
    settled = settle(polled(card, (STATUS, Reading("stopped", columns={"state": "stopped"})), (USAGE, used(2))))
    due = finish_of(settled, card).due
    assert due[STATUS] is None
    assert due[USAGE] is not None
    assert due[USAGE] > NOW + 23 * HOUR


def test_an_answer_that_changes_the_tier_changes_the_checks_that_were_not_asked_as_well() -> None:
    make_tier(position=0, states=["stopped"], usage_seconds=None, card_status_seconds=7200, package_seconds=600)
    tiers.current.forget()
    card = make_card(state="active")
    settled = settle(polled(card, (STATUS, Reading("stopped", columns={"state": "stopped"}))))
    due = finish_of(settled, card).due
    assert due.keys() == {STATUS, USAGE, PACKAGE}
    assert due[USAGE] is None
    assert due[PACKAGE] is not None
    assert NOW < due[PACKAGE] <= NOW + timedelta(seconds=600)


def test_a_check_that_fails_keeps_its_back_off_when_the_tier_is_another() -> None:
    make_tier(position=0, states=["stopped"], usage_seconds=60, card_status_seconds=7200)
    tiers.current.forget()
    card = make_card(state="active")
    stopped = Reading("stopped", columns={"state": "stopped"})
    settled = settle(polled(card, (STATUS, stopped), failures={USAGE: 3}))
    assert finish_of(settled, card).due.keys() == {STATUS}


def test_settled_twice_is_the_same_as_once() -> None:
    card = make_card(state="active")
    same = polled(card, (STATUS, Reading("stopped", columns={"state": "stopped"})), (USAGE, SERVER_ERROR))
    first, second = settle(same), settle(same)
    assert first.finishes == second.finishes
    assert CardChange.objects.count() == 1
    assert CardCheck.objects.get(type=USAGE).failures == 1


def test_many_cards_are_written_by_as_many_statements_as_two() -> None:
    account = make_account()
    few = [polled(card, (USAGE, used(1)), (STATUS, SERVER_ERROR)) for card in make_cards(account, 2)]
    many = [polled(card, (USAGE, used(1)), (STATUS, SERVER_ERROR)) for card in make_cards(account, 50)]
    settle(*few)  # what is remembered is read
    with CaptureQueriesContext(connection) as of_few:
        settle(*few)
    with CaptureQueriesContext(connection) as of_many:
        settle(*many)
    assert len(of_few) == len(of_many) <= 8


# --- fencing ---------------------------------------------------------------------------------------------------


def test_case_7_what_comes_with_a_lower_token_than_the_row_has_is_dropped_alone() -> None:
    late, fine = make_cards(make_account(), 2)
    settle(polled(late, (USAGE, used(2)), token=9))
    settled = settle(polled(late, (USAGE, used(1)), token=8), polled(fine, (USAGE, used(3)), token=8))
    assert (settled.written, settled.stale) == (1, 1)
    assert dict(CardCheck.objects.values_list("card", "value")) == {late.pk: 2, fine.pk: 3}
    late.refresh_from_db()
    assert late.used_bytes == 2


def test_what_comes_too_late_tells_nobody_anything() -> None:
    card = make_card()
    settle(polled(card, (USAGE, used(2)), token=9))
    settle(polled(card, (USAGE, MISSING), token=8))
    assert not Alert.objects.exists()


def test_what_was_said_of_a_card_that_is_gone_is_dropped_and_the_others_are_written() -> None:
    gone, fine = make_cards(make_account(), 2)
    both = [polled(gone, (USAGE, used(2))), polled(fine, (USAGE, used(3)))]
    Card.objects.filter(pk=gone.pk).delete()
    settled = settle(*both)
    assert settled.written == 1
    assert list(CardCheck.objects.values_list("card", flat=True)) == [fine.pk]


# --- failures --------------------------------------------------------------------------------------------------


def test_failures_in_a_row_are_counted_and_come_again_after_the_back_off() -> None:
    card = make_card()
    backoff = system_settings.Settings().failure_backoff
    for failures in range(3):
        settled = settle(polled(card, (USAGE, SERVER_ERROR), token=failures, failures={USAGE: failures}))
        finish = finish_of(settled, card)
        assert finish.failures == {USAGE: failures + 1}
        assert finish.due[USAGE] is not None
        assert abs(finish.due[USAGE] - NOW - timedelta(seconds=backoff[failures])) <= backoff[failures] * SECOND / 5
    check = CardCheck.objects.get()
    assert (check.failures, check.first_failed_at, check.error_class, check.error) == (
        3,
        NOW,
        "server",
        "The carrier failed.",
    )


def test_a_failure_keeps_the_last_value_and_an_answer_clears_the_failures() -> None:
    card = make_card()
    settle(polled(card, (USAGE, used(7)), token=1))
    settle(polled(card, (USAGE, SERVER_ERROR), token=2))
    check = CardCheck.objects.get()
    assert (check.value, check.succeeded_at, check.failures) == (7, NOW, 1)
    settle(polled(card, (USAGE, used(8)), token=3, failures={USAGE: 1}))
    check.refresh_from_db()
    assert (check.value, check.failures, check.first_failed_at, check.error) == (8, 0, None, "")
    assert check.last_failed_at == NOW


def test_one_check_fails_and_the_other_of_the_same_card_is_written() -> None:
    card = make_card()
    settle(polled(card, (STATUS, SERVER_ERROR), (USAGE, used(7))))
    assert dict(CardCheck.objects.values_list("type", "failures")) == {"card_status": 1, "usage": 0}


def test_case_49_what_only_has_to_wait_is_asked_when_the_carrier_says_and_counts_for_nothing() -> None:
    card = make_card()
    settled = settle(polled(card, (USAGE, COOLING), failures={USAGE: 2}))
    finish = finish_of(settled, card)
    assert finish.due == {USAGE: NOW + 15 * MINUTE}
    assert finish.failures == {USAGE: 0}
    assert not Alert.objects.exists()


def test_what_was_not_asked_stays_due_or_comes_when_the_limiter_has_room_or_never_where_the_gateway_cannot() -> None:
    card = make_card()
    one = polled(card)
    one.claim = Claim(card.account_id, card.pk, 1, (STATUS, USAGE, PACKAGE), NO_FAILURES)
    assert finish_of(settle(one), card).due == {}
    one.again_at, one.unsupported = NOW + SECOND, frozenset({PACKAGE})
    assert finish_of(settle(one), card).due == {STATUS: NOW + SECOND, USAGE: NOW + SECOND, PACKAGE: None}


# --- alerts ----------------------------------------------------------------------------------------------------


def test_a_check_is_told_when_it_has_failed_often_enough_and_resolved_by_its_answer() -> None:
    card = make_card()
    settle(polled(card, (USAGE, SERVER_ERROR), token=1, failures={USAGE: 1}))
    assert not Alert.objects.exists()
    settle(polled(card, (USAGE, SERVER_ERROR), token=2, failures={USAGE: 2}))
    settle(polled(card, (USAGE, SERVER_ERROR), token=3, failures={USAGE: 3}))
    alert = Alert.objects.get()
    assert (alert.kind, alert.count) == ("card_check_failing", 2)
    assert alert.sentence == "Failed 4 times in a row: The carrier failed."
    settle(polled(card, (USAGE, used(1)), token=4, failures={USAGE: 4}), now=NOW + HOUR)
    alert.refresh_from_db()
    assert alert.resolved_at == NOW + HOUR


def test_what_no_repetition_mends_is_told_at_its_first_occurrence() -> None:
    settle(polled(make_card(), (USAGE, MISSING)))
    assert Alert.objects.get().sentence == "Failed once: There is no such card."


def test_case_64_many_failing_cards_of_an_account_are_one_alert_with_theirs_under_it() -> None:
    account, other = make_account(), make_account()
    cards = make_cards(account, 30)
    settle(*(polled(card, (USAGE, MISSING)) for card in cards), polled(make_card(other), (USAGE, MISSING)))
    storm = Alert.objects.get(kind="cards_failing")
    assert storm.children.count() == 30
    assert storm.subject == f"carrier_account:{account.pk}"
    late = make_card(account)
    settle(polled(late, (USAGE, MISSING)))
    assert storm.children.count() == 31
    assert Alert.objects.filter(parent=None, kind="card_check_failing").count() == 1  # the other account's


def test_trouble_of_the_account_holds_it_once_for_all_its_cards_and_is_no_failure_of_any() -> None:
    account = make_account()
    throttled = [polled(card) for card in make_cards(account, 3)]
    for one in throttled:
        one.trouble = THROTTLED
    settled = settle(*throttled)
    account.refresh_from_db()
    assert settled.held == {account.pk: NOW + 300 * SECOND}
    assert (account.held_until, account.hold_count) == (NOW + 300 * SECOND, 1)
    assert not CardCheck.objects.exists()
    assert all(finish.failures == {} for finish in settled.finishes[account.pk])


def test_answers_after_a_hold_take_one_hold_off_and_answers_amid_it_none() -> None:
    account = make_account()
    CarrierAccount.objects.filter(pk=account.pk).update(
        hold_count=2, held_until=NOW + MINUTE, held_class="throttled", held_reason="Too many calls."
    )
    card = make_card(account)
    settle(polled(card, (USAGE, used(1)), token=1), now=NOW)
    account.refresh_from_db()
    assert account.hold_count == 2
    settle(polled(card, (USAGE, used(1)), token=2), now=NOW + 2 * MINUTE)
    settle(polled(card, (USAGE, used(1)), token=3), now=NOW + 2 * MINUTE)
    account.refresh_from_db()
    assert (account.hold_count, account.held_until, account.held_reason) == (0, None, "")

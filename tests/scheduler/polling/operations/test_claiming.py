"""The queue of an account: as many in work as it bears, each in one hand, and back when that hand is lost."""

import pytest

from scheduler.polling import defining, holding
from scheduler.polling.models import Card, CardOperation, CarrierAccount
from scheduler.polling.operations import claiming, settling
from scheduler.polling.operations.claiming import CLAIM_LEASE
from scheduler.polling.states import OperationState
from tests.scheduler.polling.factories import HOUR, MINUTE, NOW, SECOND, make_account
from tests.scheduler.polling.operations.desk import LEASE, ask, begin, claim, fresh, make_changeable

pytestmark = pytest.mark.django_db


def test_an_account_has_no_more_in_work_than_its_limit_and_the_earliest_come_first() -> None:
    cards = make_changeable(5, sr_inflight_limit=2)
    others = make_changeable(3, sr_inflight_limit=10)
    for second, card in enumerate(reversed(cards)):
        ask(card, now=NOW + second * SECOND)
    ask(*others)
    claimed = [taken.card_id for taken in claim(now=NOW + MINUTE)]
    assert claimed[:2] == [cards[4].pk, cards[3].pk]
    assert sorted(claimed[2:]) == [card.pk for card in others]
    assert not claim(now=NOW + MINUTE)


def test_what_is_due_first_comes_first_whoever_asked_first() -> None:
    cards = make_changeable(2, sr_inflight_limit=1)
    ask(cards[0], now=NOW + SECOND)
    ask(cards[1], now=NOW)
    assert [taken.card_id for taken in claim(now=NOW + MINUTE)] == [cards[1].pk]


def test_what_one_account_has_in_work_takes_no_place_of_another() -> None:
    [busy], [other] = make_changeable(sr_inflight_limit=1), make_changeable(sr_inflight_limit=1)
    ask(busy)
    assert len(claim()) == 1
    ask(other)
    assert [taken.card_id for taken in claim()] == [other.pk]


def test_a_place_that_is_free_again_is_filled() -> None:
    cards = make_changeable(2, sr_inflight_limit=1)
    ask(*cards)
    [first] = claim()
    assert begin(first)
    assert settling.settle(first, None, now=NOW)
    assert [taken.card_id for taken in claim()] == [cards[1].pk]


def test_nothing_is_claimed_for_accounts_that_are_off_or_held() -> None:
    [off], [held] = make_changeable(), make_changeable()
    ask(off, held)
    CarrierAccount.objects.filter(pk=off.account_id).update(active=False)
    holding.hold_by(held.account_id, NOW + HOUR, actor="ann", reason="maintenance")
    assert not claim()
    assert [taken.card_id for taken in claim(now=NOW + HOUR)] == [held.pk]


def test_only_accounts_with_due_operations_are_looked_at() -> None:
    [card] = make_changeable()
    make_changeable()
    ask(card, now=NOW + MINUTE)
    assert claiming.accounts_that_wait(now=NOW) == set()
    assert claiming.accounts_that_wait(now=NOW + MINUTE) == {card.account_id}
    assert claim(now=NOW + MINUTE)
    assert claiming.accounts_that_wait(now=NOW + MINUTE) == set()


def test_a_claim_is_begun_once_and_says_what_is_asked() -> None:
    [card] = make_changeable()
    [operation] = ask(card)
    [taken] = claim()
    change = claiming.begin(taken, now=NOW, lease=LEASE)
    assert change is not None
    assert (change.kind, change.card.iccid) == ("stop", card.iccid)
    assert not begin(taken)
    assert (fresh(operation).tries, fresh(operation).sent_at) == (1, NOW)


def test_a_claim_whose_lease_is_over_is_not_begun() -> None:
    [card] = make_changeable()
    ask(card)
    [taken] = claim()
    assert not begin(taken, now=NOW + CLAIM_LEASE)


def test_a_claim_that_nobody_began_is_free_again_after_its_lease_and_its_old_token_is_void() -> None:
    [card] = make_changeable()
    [operation] = ask(card)
    [lost] = claim()
    later = NOW + CLAIM_LEASE
    assert claiming.free_unbegun(now=later - SECOND) == 0
    assert claiming.free_unbegun(now=later) == 1
    assert settling.settle_lost(now=later) == 0
    assert claiming.put_off([lost], until=later + HOUR) == 0
    [again] = claim(now=later)
    assert again.token > lost.token
    assert not begin(lost, now=later)
    assert begin(again, now=later)
    assert fresh(operation).tries == 1


def test_a_sender_that_was_lost_after_it_began_leaves_a_change_that_is_looked_for_and_not_asked_for_again() -> None:
    [card] = make_changeable()
    [operation] = ask(card)
    [taken] = claim()
    assert begin(taken)
    assert claiming.free_unbegun(now=NOW + LEASE) == 0
    assert settling.settle_lost(now=NOW + LEASE) == 1
    assert claiming.free_unbegun(now=NOW + LEASE) == 0
    assert (fresh(operation).state, fresh(operation).accepted_at) == (OperationState.ACCEPTED, None)
    assert not claim(now=NOW + HOUR)
    assert not settling.settle(taken, None, now=NOW + LEASE)  # who stood still may not write any more


def test_what_was_not_begun_is_put_off_and_what_was_is_left_alone() -> None:
    cards = make_changeable(2)
    ask(*cards)
    taken = claim()
    assert begin(taken[0])
    assert claiming.put_off(taken, until=NOW + MINUTE) == 1
    assert claiming.put_off([], until=NOW) == 0
    states = dict(CardOperation.objects.values_list("pk", "state"))
    assert [states[each.operation_id] for each in taken] == [OperationState.SENDING, OperationState.WAITING]


def test_an_operation_of_a_card_that_was_moved_is_not_sent_to_the_old_account_and_follows_the_card() -> None:
    [card] = make_changeable()
    [operation] = ask(card)
    [taken] = claim()
    Card.objects.update(account=make_account())
    assert not begin(taken)
    claiming.put_off([taken], until=NOW)
    assert claiming.follow_cards() == 1
    assert fresh(operation).account_id == Card.objects.get().account_id
    assert claiming.follow_cards() == 0


def test_what_is_in_hand_stays_with_the_account_that_is_asked_though_its_card_was_moved() -> None:
    [card] = make_changeable()
    [operation] = ask(card)
    [taken] = claim()
    assert begin(taken)
    Card.objects.update(account=make_account())
    assert claiming.follow_cards() == 0
    assert fresh(operation).account_id == card.account_id


def test_an_account_whose_cards_were_moved_can_be_deleted_and_the_operations_stay_with_their_cards() -> None:
    [card] = make_changeable()
    [operation] = ask(card)
    former = CarrierAccount.objects.get()
    Card.objects.update(account=make_account())
    defining.delete_account(former, expected_version=former.version)
    assert fresh(operation).account_id == Card.objects.get().account_id


def test_of_an_account_that_goes_only_its_own_operations_follow_their_cards() -> None:
    [card], [other] = make_changeable(), make_changeable()
    [moved], [in_hand] = ask(card), ask(other)
    assert len(claim()) == 2
    Card.objects.update(account=make_account())
    assert claiming.leave(card.account_id) == 1
    assert fresh(moved).account_id == Card.objects.get(pk=card.pk).account_id
    assert fresh(in_hand).account_id == other.account_id

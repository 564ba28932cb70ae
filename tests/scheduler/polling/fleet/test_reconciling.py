"""Whatever is lost between rows and live order, a comparison finds and mends it; what is right it leaves alone."""

from datetime import timedelta
from typing import Any

import pytest
from django.db import DataError
from pytest_django import DjangoAssertNumQueries
from redis import Redis

from scheduler.polling import defining, tasks
from scheduler.polling.fleet import following
from scheduler.polling.fleet.initializing import rebuild
from scheduler.polling.fleet.reconciling import Mended, reconcile, reconcile_all
from scheduler.polling.models import Card, CarrierAccount
from scheduler.polling.queue import Queue, calls
from scheduler.polling.states import CheckType
from tests.scheduler.polling.factories import HOUR, MINUTE, NOW, make_account, make_cards, make_checks, make_tier

pytestmark = pytest.mark.django_db


def in_order(redis: Redis, account: CarrierAccount) -> None:
    rebuild(redis, account.pk, by="ann", now=NOW)


def mended(redis: Redis, account: CarrierAccount) -> list[Mended]:
    """Reconcile twice: the second time there is nothing left to mend."""
    first = reconcile(redis, account.pk, now=NOW + MINUTE)
    return [first, reconcile(redis, account.pk, now=NOW + MINUTE)]


def test_an_order_that_is_right_is_left_as_it_is_with_a_few_questions(
    redis: Redis, django_assert_num_queries: DjangoAssertNumQueries
) -> None:
    account = make_account()
    make_cards(account, 1200)
    in_order(redis, account)
    with django_assert_num_queries(3):
        assert not reconcile(redis, account.pk, now=NOW)


def test_cards_that_came_and_were_not_put_are_put_where_they_belong(redis: Redis, queue: Queue) -> None:
    make_tier()
    account = make_account()
    in_order(redis, account)
    cards = make_cards(account, 1200)
    make_checks(cards, due_at=NOW + HOUR)
    assert mended(redis, account) == [Mended(account.pk, added=1200), Mended(account.pk)]
    sight = queue.ask(calls.look(account.pk, cards[0].pk))
    assert sight is not None
    assert sight.due[CheckType.USAGE] == NOW + HOUR


def test_cards_that_went_and_were_not_taken_out_are_taken_out(redis: Redis, queue: Queue) -> None:
    account = make_account()
    kept, gone, disabled = make_cards(account, 3)
    in_order(redis, account)
    gone.delete()
    Card.objects.filter(pk=disabled.pk).update(polling_enabled=False)
    assert mended(redis, account) == [Mended(account.pk, removed=2), Mended(account.pk)]
    assert list(queue.cards(account.pk)) == [kept.pk]


def test_a_card_of_another_account_by_now_ends_in_exactly_one_order(redis: Redis, queue: Queue) -> None:
    former, latter = make_account(), make_account()
    (card,) = make_cards(former, 1)
    in_order(redis, former)
    in_order(redis, latter)
    Card.objects.update(account=latter)
    assert reconcile_all(redis, now=NOW) == [Mended(former.pk, removed=1), Mended(latter.pk, added=1)]
    assert (list(queue.cards(former.pk)), list(queue.cards(latter.pk))) == ([], [card.pk])
    assert reconcile_all(redis, now=NOW) == []


def test_an_order_that_is_lost_is_left_to_whoever_claims_from_it(redis: Redis, queue: Queue) -> None:
    account = make_account()
    make_cards(account, 3)
    assert not reconcile(redis, account.pk, now=NOW)
    assert queue.ask(calls.count(account.pk)).cards == 0


def test_an_account_that_is_switched_off_loses_its_order_and_has_it_rebuilt_when_it_is_on_again(
    redis: Redis, queue: Queue
) -> None:
    account = make_account()
    make_cards(account, 3)
    in_order(redis, account)
    CarrierAccount.objects.update(active=False)
    assert mended(redis, account) == [Mended(account.pk, removed=3), Mended(account.pk)]
    assert queue.ask(calls.count(account.pk)).epoch == ""


def test_after_a_change_of_the_tiers_the_order_is_built_anew(redis: Redis, queue: Queue) -> None:
    tier, account = make_tier(), make_account()
    (card,) = make_cards(account, 1)
    make_checks([card], due_at=NOW + 50 * MINUTE)
    in_order(redis, account)
    tier.usage_seconds = 60
    defining.save_tier(tier, expected_version=tier.version)
    assert mended(redis, account) == [Mended(account.pk, rebuilt=True), Mended(account.pk)]
    sight = queue.ask(calls.look(account.pk, card.pk))
    assert sight is not None
    assert sight.due[CheckType.USAGE] is not None
    assert sight.due[CheckType.USAGE] <= NOW + 2 * MINUTE
    tier.delete()
    assert [each.rebuilt for each in mended(redis, account)] == [True, False]


def test_a_scan_that_has_no_time_for_all_accounts_goes_on_with_the_next_ones(redis: Redis) -> None:
    accounts = [make_account() for _ in range(3)]
    for account in accounts:
        in_order(redis, account)
        make_cards(account, 1)
    compared = [reconcile_all(redis, now=NOW, within=timedelta(0)) for _ in range(4)]
    assert compared == [*([Mended(account.pk, added=1)] for account in accounts), []]


def test_an_account_that_cannot_be_compared_does_not_keep_the_next_from_it(
    redis: Redis, monkeypatch: pytest.MonkeyPatch
) -> None:
    poisoned, other = make_account(), make_account()
    for account in (poisoned, other):
        in_order(redis, account)
        make_cards(account, 1)
    put_in = following.put_in

    def poison(queue: Queue, account_id: int, *rest: Any) -> int:
        if account_id == poisoned.pk:
            raise DataError
        return put_in(queue, account_id, *rest)

    monkeypatch.setattr(following, "put_in", poison)
    with pytest.raises(DataError):
        reconcile_all(redis, now=NOW)
    with pytest.raises(DataError):  # the other is compared before the poisoned one comes again
        reconcile_all(redis, now=NOW)
    assert not reconcile(redis, other.pk, now=NOW)


def test_the_scan_finds_what_was_lost_while_redis_was_away_and_notes_it(redis: Redis, queue: Queue) -> None:
    account = make_account()
    (gone,) = make_cards(account, 1)
    in_order(redis, account)
    come = make_cards(account, 2)
    gone.delete()
    assert tasks.reconcile() == f"account {account.pk}: 2 cards put in, 1 taken out."
    assert sorted(queue.cards(account.pk)) == sorted(card.pk for card in come)
    assert tasks.reconcile() == ""

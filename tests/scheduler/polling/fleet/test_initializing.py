"""The live order is built from the rows: complete or not open at all, once however many ask, again after any crash."""

from collections.abc import Callable
from datetime import datetime, timedelta
from decimal import Decimal
from typing import Any
from unittest import mock

import pytest
from pytest_django import DjangoAssertNumQueries
from redis import Redis

from scheduler.polling import policy
from scheduler.polling.fleet import initializing, rebuilds
from scheduler.polling.fleet.initializing import Outcome, Rebuilt, rebuild, rebuild_if_lost, request_rebuilds
from scheduler.polling.fleet.rebuilds import Rebuild
from scheduler.polling.models import CarrierAccount
from scheduler.polling.queue import Finish, Queue, Round, RoundState, calls
from scheduler.polling.states import CardState, CheckType
from scheduler.polling.tiers import as_tier
from tests.scheduler.polling.factories import (
    DAY,
    HOUR,
    MINUTE,
    NOW,
    facts,
    make_account,
    make_cards,
    make_checks,
    make_tier,
)

pytestmark = pytest.mark.django_db

USAGE, STATUS = CheckType.USAGE, CheckType.CARD_STATUS
TOKEN = 9_000_000_000_000_000  # beyond the present in microseconds


def rebuilt(redis: Redis, account: CarrierAccount, *, now: datetime = NOW, **options: Any) -> Rebuilt:
    return rebuild(redis, account.pk, by="ann", now=now, **options)


def due_of(queue: Queue, account: CarrierAccount, card_id: int) -> dict[CheckType, datetime | None]:
    sight = queue.ask(calls.look(account.pk, card_id))
    assert sight is not None
    return dict(sight.due)


def claim(queue: Queue, account: CarrierAccount) -> Round:
    half = Decimal("0.5")
    return queue.ask(calls.claim(account.pk, most=10, inflight_limit=10, lease=MINUTE, priority_share=half))


# --- what is in it -----------------------------------------------------------------------------------------------


def test_all_polled_cards_are_put_and_no_others(redis: Redis, queue: Queue) -> None:
    account, other = make_account(), make_account()
    polled = make_cards(account, 5)
    make_cards(account, 3, polling_enabled=False)
    make_cards(other, 2)
    assert rebuilt(redis, account) == Rebuilt(account.pk, Outcome.REBUILT, 5)
    assert sorted(queue.cards(account.pk)) == [card.pk for card in polled]
    assert list(queue.cards(other.pk)) == []


def test_due_times_and_failures_that_the_rows_know_are_kept(redis: Redis, queue: Queue) -> None:
    tier, account = make_tier(), make_account()
    (card,) = make_cards(account, 1)
    make_checks([card], due_at=NOW + 7 * MINUTE)
    make_checks([card], STATUS, due_at=NOW + 3 * DAY, failures=4, first_failed_at=NOW)
    rebuilt(redis, account)
    sight = queue.ask(calls.look(account.pk, card.pk))
    assert sight is not None
    assert (sight.due[USAGE], sight.due[STATUS]) == (NOW + 7 * MINUTE, NOW + 3 * DAY)
    assert (sight.failures[USAGE], sight.failures[STATUS]) == (0, 4)
    assert sight.due[CheckType.PACKAGE] is None
    assert tier.package_seconds is None


def test_where_nothing_is_known_cards_are_spread_over_the_interval(redis: Redis, queue: Queue) -> None:
    row, account = make_tier(), make_account(settings={"timezone": "Asia/Shanghai"})
    cards = make_cards(account, 20, state=CardState.ACTIVE)
    rebuilt(redis, account)
    found = {card.pk: due_of(queue, account, card.pk)[USAGE] for card in cards}
    known = facts(state=CardState.ACTIVE, reset_day=1, timezone="Asia/Shanghai", package="", used_bytes=None)
    for card in cards:
        first = policy.first_due(USAGE, known, [as_tier(row)], NOW, card.pk)
        assert first is not None
        assert found[card.pk] == first - timedelta(microseconds=first.microsecond % 1000)
    assert len(set(found.values())) == 20


def test_a_card_of_no_tier_is_in_the_order_and_never_due(redis: Redis, queue: Queue) -> None:
    make_tier(states=[CardState.STOPPED])
    account = make_account()
    (card,) = make_cards(account, 1)
    rebuilt(redis, account)
    assert set(due_of(queue, account, card.pk).values()) == {None}


def test_tokens_begin_above_the_highest_of_the_rows(redis: Redis, queue: Queue) -> None:
    make_tier()
    account = make_account()
    make_checks(make_cards(account, 2), due_at=NOW - HOUR, token=TOKEN)
    make_checks(make_cards(make_account(), 1), due_at=NOW - HOUR, token=2 * TOKEN)
    rebuilt(redis, account)
    tokens = {each.token for each in claim(queue, account).claims}
    assert tokens == {TOKEN + 1, TOKEN + 2}


def test_a_second_rebuild_forgets_cards_that_are_not_polled_any_more_and_keeps_the_phases(
    redis: Redis, queue: Queue
) -> None:
    make_tier()
    account = make_account()
    kept, gone = make_cards(account, 2)
    rebuilt(redis, account)
    before = due_of(queue, account, kept.pk)
    gone.delete()
    rebuilt(redis, account, now=NOW + MINUTE)
    assert list(queue.cards(account.pk)) == [kept.pk]
    assert due_of(queue, account, kept.pk)[STATUS] == before[STATUS]


def test_a_card_in_work_keeps_its_claim_through_a_rebuild(redis: Redis, queue: Queue) -> None:
    make_tier()
    account = make_account()
    (card,) = make_cards(account, 1)
    make_checks([card], due_at=NOW - HOUR)
    rebuilt(redis, account)
    (held,) = claim(queue, account).claims
    rebuilt(redis, account)
    assert queue.ask(calls.finish(account.pk, [Finish(card.pk, held.token, {USAGE: NOW + DAY}, {})])) == [True]


def test_an_account_that_is_switched_off_has_no_order(redis: Redis, queue: Queue) -> None:
    account = make_account()
    make_cards(account, 2)
    rebuilt(redis, account)
    CarrierAccount.objects.update(active=False)
    assert rebuilt(redis, account).outcome == Outcome.SWITCHED_OFF
    assert queue.ask(calls.count(account.pk)).epoch == ""
    assert list(queue.cards(account.pk)) == []


def test_pages_are_read_by_key_with_two_questions_each(
    redis: Redis, queue: Queue, django_assert_num_queries: DjangoAssertNumQueries
) -> None:
    make_tier()
    account = make_account()
    make_cards(account, 2500)
    told: list[tuple[int, int]] = []
    # who decides, tiers' versions, account, count, tiers, three pages with their checks, the empty fourth, highest
    # token, and a transaction of what is asked for again
    with django_assert_num_queries(1 + 4 + 3 * 2 + 1 + 1 + 4):
        rebuilt(redis, account, tell=lambda done, total: told.append((done, total)))
    assert told == [(1000, 2500), (2000, 2500), (2500, 2500)]
    assert queue.ask(calls.count(account.pk)).cards == 2500


# --- open or not -------------------------------------------------------------------------------------------------


def at_page(number: int, act: Callable[[], object]) -> Any:
    """Let something happen after a page of the rebuild was put."""
    go_on, pages = Rebuild.go_on, iter(range(1, 100))

    def then(self: Rebuild, done: int) -> None:
        if next(pages) == number:
            act()
        go_on(self, done)

    return mock.patch.object(Rebuild, "go_on", then)


def test_nothing_is_claimed_until_all_cards_are_in(redis: Redis, queue: Queue) -> None:
    make_tier()
    account = make_account()
    make_checks(make_cards(account, 1500), due_at=NOW - HOUR)
    states = []
    with at_page(1, lambda: states.append(claim(queue, account).state)):
        rebuilt(redis, account)
    assert states == [RoundState.NOT_READY]
    assert claim(queue, account).state == RoundState.CLAIMED


def test_a_rebuild_that_died_in_the_middle_is_not_open_and_can_be_begun_again(redis: Redis, queue: Queue) -> None:
    account = make_account()
    make_cards(account, 1500)
    with at_page(1, mock.Mock(side_effect=KeyboardInterrupt)), pytest.raises(KeyboardInterrupt):
        rebuilt(redis, account)
    assert queue.ask(calls.count(account.pk)).epoch == ""
    assert rebuilt(redis, account) == Rebuilt(account.pk, Outcome.REBUILT, 1500)


def test_one_that_was_killed_holds_others_off_only_until_its_right_ends(redis: Redis, queue: Queue) -> None:
    account = make_account()
    make_cards(account, 1500)
    killed = mock.patch.object(Rebuild, "let_go"), at_page(1, mock.Mock(side_effect=KeyboardInterrupt))
    with killed[0], killed[1], pytest.raises(KeyboardInterrupt):
        rebuilt(redis, account)
    assert rebuilt(redis, account).outcome == Outcome.UNDER_WAY
    assert 0 < redis.ttl(rebuilds._lock_key(account.pk)) <= rebuilds.SILENT_SECONDS
    redis.delete(rebuilds._lock_key(account.pk))  # so much time has passed
    assert rebuilt(redis, account) == Rebuilt(account.pk, Outcome.REBUILT, 1500)
    assert queue.ask(calls.count(account.pk)).cards == 1500


@pytest.mark.parametrize("page", [1, 2])
def test_an_order_that_is_lost_while_it_is_built_is_never_opened_in_part(redis: Redis, queue: Queue, page: int) -> None:
    account = make_account()
    make_cards(account, 1500)
    with at_page(page, redis.flushdb):
        assert rebuilt(redis, account).outcome == Outcome.OVERTAKEN
    assert queue.ask(calls.count(account.pk)).epoch == ""


def test_an_order_that_is_lost_just_before_it_is_opened_stays_closed(redis: Redis, queue: Queue) -> None:
    account = make_account()
    make_cards(account, 3)
    conclude = Rebuild.conclude

    def too_late(self: Rebuild, call: Any) -> None:
        redis.flushdb()
        conclude(self, call)

    with mock.patch.object(Rebuild, "conclude", too_late):
        assert rebuilt(redis, account).outcome == Outcome.OVERTAKEN
    assert queue.ask(calls.count(account.pk)).epoch == ""


def test_two_at_once_do_not_disturb_each_other(redis: Redis, queue: Queue) -> None:
    account = make_account()
    make_cards(account, 1500)
    second: list[Rebuilt] = []
    with at_page(1, lambda: second.append(rebuilt(redis, account))):
        assert rebuilt(redis, account).cards == 1500
    assert second == [Rebuilt(account.pk, Outcome.UNDER_WAY)]
    assert queue.ask(calls.count(account.pk)).cards == 1500


def test_one_that_slept_too_long_stops_before_it_puts_another_page(redis: Redis, queue: Queue) -> None:
    account = make_account()
    make_cards(account, 1500)
    second: list[Rebuilt] = []

    def sleep() -> None:
        redis.delete(rebuilds._lock_key(account.pk))  # its right has ended
        second.append(rebuilt(redis, account, now=NOW + MINUTE))

    with at_page(1, sleep):
        assert rebuilt(redis, account).outcome == Outcome.OVERTAKEN
    assert second == [Rebuilt(account.pk, Outcome.REBUILT, 1500)]
    assert queue.ask(calls.count(account.pk)).epoch.startswith((NOW + MINUTE).isoformat())


# --- who is to do it ---------------------------------------------------------------------------------------------


def test_of_all_who_ask_one_is_told_to_send_the_message(redis: Redis) -> None:
    assert request_rebuilds(redis, [1, 2]) == [1, 2]
    assert request_rebuilds(redis, [1, 2, 3]) == [3]
    assert request_rebuilds(redis, []) == []


def test_after_a_rebuild_the_next_loss_is_heeded_at_once(redis: Redis) -> None:
    account = make_account()
    assert request_rebuilds(redis, [account.pk]) == [account.pk]
    rebuild_if_lost(redis, account.pk, by="dispatching", now=NOW)
    assert request_rebuilds(redis, [account.pk]) == [account.pk]


def test_a_message_that_is_lost_is_sent_again_after_a_while(redis: Redis) -> None:
    assert request_rebuilds(redis, [1]) == [1]
    assert 0 < redis.ttl(rebuilds._asked_key(1)) <= rebuilds.ASKED_SECONDS


def test_a_doubled_message_does_nothing_where_the_order_is_there(redis: Redis, queue: Queue) -> None:
    account = make_account()
    make_cards(account, 2)
    assert rebuild_if_lost(redis, account.pk, by="dispatching", now=NOW).outcome == Outcome.REBUILT
    assert rebuild_if_lost(redis, account.pk, by="dispatching", now=NOW + HOUR).outcome == Outcome.NOT_NEEDED
    assert queue.ask(calls.count(account.pk)).epoch.startswith(NOW.isoformat())


# --- how far it is -----------------------------------------------------------------------------------------------


def test_progress_tells_who_wanted_it_and_how_far_it_is(redis: Redis) -> None:
    account, untouched = make_account(), make_account()
    make_cards(account, 1500)
    seen = []
    with at_page(2, lambda: seen.append(initializing.progress(redis, [account.pk, untouched.pk]))):
        rebuilt(redis, account)
    ((progress,),) = [list(each.values()) for each in seen]
    assert (progress.by, progress.began_at, progress.total) == ("ann", NOW, 1500)
    assert (progress.done, progress.ended_at, progress.under_way) == (1000, None, True)
    ended = initializing.progress(redis, [account.pk])[account.pk]
    assert (ended.done, ended.under_way) == (1500, False)
    assert ended.ended_at is not None


def test_progress_of_a_rebuild_that_died_says_that_nobody_is_at_it(redis: Redis) -> None:
    account = make_account()
    make_cards(account, 1500)
    with at_page(2, mock.Mock(side_effect=KeyboardInterrupt)), pytest.raises(KeyboardInterrupt):
        rebuilt(redis, account)
    progress = initializing.progress(redis, [account.pk])[account.pk]
    assert (progress.done, progress.ended_at, progress.under_way) == (1000, None, False)


def test_progress_of_nothing_is_nothing(redis: Redis) -> None:
    assert initializing.progress(redis, []) == {}


def test_progress_that_was_lost_before_its_end_is_left_out(redis: Redis) -> None:
    account = make_account()
    end = Rebuild.end

    def too_late(self: Rebuild, *arguments: Any) -> None:
        redis.flushdb()
        end(self, *arguments)

    with mock.patch.object(Rebuild, "end", too_late):
        rebuilt(redis, account)
    assert initializing.progress(redis, [account.pk]) == {}

"""Claiming: which cards a round gets, and how many."""

from decimal import Decimal

import pytest
from redis import Redis

from quotas.ratelimit import Limiter, Window
from scheduler.polling.queue import Claim, Queue, Round, RoundState, calls, limiter_name
from scheduler.polling.queue.keys import key_of
from scheduler.polling.queue.packing import MILLISECOND, milliseconds
from tests.scheduler.polling.queue.states import (
    HOUR,
    LEASE,
    PACKAGE,
    REAL_NAME,
    SECOND,
    STATUS,
    USAGE,
    claim,
    claim_round,
    claimed,
    counter,
    finish,
    forget,
    kept,
    look,
    put,
    put_due,
    server_now,
)

# --- what is claimed ------------------------------------------------------------------------------------------------


def test_cards_are_claimed_in_the_order_in_which_they_were_due(queue: Queue, account: int) -> None:
    put_due(queue, account, [9, 7, 8, 10])
    assert claimed(queue, account, most=3) == [9, 7, 8]
    assert claimed(queue, account) == [10]
    assert claimed(queue, account) == []


def test_a_claim_says_what_is_due_and_what_failed(queue: Queue, account: int) -> None:
    now = server_now(queue._redis)
    due = {USAGE: now - SECOND, STATUS: now + HOUR, PACKAGE: now - HOUR}
    put(queue, account, {5: due}, failures={USAGE: 3, STATUS: 7})
    (only,) = claim(queue, account)
    assert only == Claim(account, 5, only.token, (USAGE, PACKAGE), {REAL_NAME: 0, USAGE: 3, STATUS: 7, PACKAGE: 0})


def test_a_card_is_due_from_its_very_millisecond_on(queue: Queue, account: int) -> None:
    now = server_now(queue._redis)
    due = now + 30 * MILLISECOND
    put(queue, account, {1: {USAGE: due}})
    cards: list[int] = []
    while not cards:
        before, cards, after = server_now(queue._redis), claimed(queue, account), server_now(queue._redis)
        assert before < due if not cards else after >= due


def test_a_card_of_which_nothing_is_checked_is_in_the_queue_and_never_claimed(queue: Queue, account: int) -> None:
    put(queue, account, {1: {USAGE: None}})
    assert claimed(queue, account) == []
    assert (look(queue, account, 1).turn, counter(queue, account, "due")) == (None, 0)
    assert list(queue.cards(account)) == [1]


def test_a_card_that_is_claimed_stands_behind_its_lease(queue: Queue, account: int) -> None:
    put_due(queue, account, [1])
    before = server_now(queue._redis)
    (only,) = claim(queue, account)
    sight = look(queue, account, 1)
    assert before + LEASE <= sight.turn == sight.lease_end <= server_now(queue._redis) + LEASE
    assert (sight.token, sight.types, sight.executor) == (only.token, (USAGE,), "")


def test_47_a_small_account_is_claimed_for_whatever_a_large_one_has_due(queue: Queue, account: int) -> None:
    large, small = account, account + 10_000_000
    put_due(queue, large, range(1, 1001))
    put_due(queue, small, [1])
    arguments = {"most": 50, "inflight_limit": 100, "lease": LEASE, "priority_share": Decimal(0)}
    rounds = queue.perform([calls.claim(each, **arguments) for each in (large, small)])
    assert [len(each.claims) for each in rounds if isinstance(each, Round)] == [50, 1]
    queue.ask(calls.remove(small, [1]))


def test_28_a_limit_above_the_length_of_the_queue_claims_what_is_there_and_then_nothing(
    queue: Queue, account: int
) -> None:
    put_due(queue, account, [1, 2])
    assert len(claim(queue, account, most=1000, inflight_limit=10_000)) == 2
    before = kept(queue._redis, account)
    assert claimed(queue, account, most=1000, inflight_limit=10_000) == []
    assert kept(queue._redis, account) == before


# --- how many -------------------------------------------------------------------------------------------------------


def test_no_more_cards_are_claimed_at_once_than_the_account_bears(queue: Queue, account: int) -> None:
    put_due(queue, account, range(1, 11))
    first = claim(queue, account, inflight_limit=3)
    assert len(first) == 3
    assert claimed(queue, account, inflight_limit=3) == []
    assert claimed(queue, account, inflight_limit=2) == [], "a limit that was lowered"
    finish(queue, first[0])
    assert len(claim(queue, account, inflight_limit=3)) == 1


@pytest.mark.parametrize("most", [0, 1001])
def test_a_round_takes_one_to_a_thousand_cards(account: int, most: int) -> None:
    with pytest.raises(ValueError, match="take 1 to 1,000 at once"):
        calls.claim(account, most=most, inflight_limit=1, lease=LEASE, priority_share=Decimal(0))


def test_a_round_takes_as_many_cards_as_their_types_leave_calls_for(queue: Queue, account: int) -> None:
    put_due(queue, account, range(1, 11), types=(USAGE, STATUS))
    assert len(claim(queue, account, windows=[Window(6, 60)])) == 3


def test_limits_that_leave_enough_calls_leave_the_round_as_it_is(queue: Queue, account: int) -> None:
    put_due(queue, account, range(1, 5), types=(REAL_NAME, USAGE, STATUS, PACKAGE))
    assert len(claim(queue, account, most=4, windows=[Window(1000, 60)])) == 4


def test_the_last_card_may_need_more_calls_than_are_left_so_that_none_is_wasted(queue: Queue, account: int) -> None:
    put_due(queue, account, range(1, 11), types=(REAL_NAME, USAGE, STATUS, PACKAGE))
    assert len(claim(queue, account, windows=[Window(5, 60)])) == 2


def test_calls_that_others_booked_are_not_taken_again_and_none_is_booked(
    queue: Queue, account: int, client: Redis
) -> None:
    put_due(queue, account, range(1, 11))
    windows = [Window(5, 60)]
    limiter = Limiter(client, limiter_name(account), windows)
    for _ in range(3):
        limiter.book()
    assert len(claim(queue, account, windows=windows)) == 2
    assert limiter.left() == 2
    limiter.book(2)
    assert claimed(queue, account, windows=windows) == []


def test_calls_count_as_far_as_the_horizon(queue: Queue, account: int) -> None:
    put_due(queue, account, range(1, 101))
    windows = [Window(10, 1)]  # one each tenth of a second
    assert len(claim(queue, account, windows=windows, horizon=300 * MILLISECOND)) == 3
    assert len(claim(queue, account, windows=windows, horizon=2 * SECOND)) == 20


# --- rounds ---------------------------------------------------------------------------------------------------------


def test_20_an_account_has_one_round_a_second(queue: Queue, account: int, client: Redis) -> None:
    put_due(queue, account, range(1, 201))
    call = calls.claim(account, most=1, inflight_limit=200, lease=LEASE, priority_share=Decimal(0))
    first = client.time()[0]
    states: list[RoundState] = []
    while client.time()[0] == first or len(states) < 10:  # beyond the end of a second
        states += [each.state for each in queue.perform([call] * 5) if isinstance(each, Round)]
    seconds = client.time()[0] - first + 1
    assert set(states) == {RoundState.CLAIMED, RoundState.DONE}
    assert states.count(RoundState.CLAIMED) <= seconds
    assert states.count(RoundState.CLAIMED) == 200 - counter(queue, account, "due")


def test_a_clock_that_is_set_back_holds_no_round_up(queue: Queue, account: int, client: Redis) -> None:
    put_due(queue, account, [1])
    client.hset(key_of(account, "state"), "slot", client.time()[0] + 3600)
    assert len(claim_round(queue, account).claims) == 1


def test_without_a_complete_order_nothing_is_claimed_and_the_second_keeps_its_round(queue: Queue, account: int) -> None:
    assert claim_round(queue, account) == Round(RoundState.NOT_READY)
    put_due(queue, account, [1])
    queue.ask(calls.begin_rebuild(account))
    assert claim_round(queue, account) == Round(RoundState.NOT_READY)
    put_due(queue, account, [1])
    assert len(claim_round(queue, account).claims) == 1


@pytest.mark.parametrize("lost", ["queue", "cards"])
def test_an_order_that_lost_cards_is_complete_no_more(queue: Queue, account: int, client: Redis, lost: str) -> None:
    put_due(queue, account, [1, 2])
    client.delete(key_of(account, lost))
    assert claim_round(queue, account).state is RoundState.NOT_READY
    assert queue.ask(calls.count(account)).epoch == ""


# --- tokens ---------------------------------------------------------------------------------------------------------


def test_7_tokens_only_grow(queue: Queue, account: int) -> None:
    put_due(queue, account, range(1, 6))
    tokens = [each.token for _ in range(3) for each in claim(queue, account, most=2)]
    for each in tokens:
        assert tokens.count(each) == 1
    assert tokens == sorted(tokens)


def test_7_tokens_grow_over_a_redis_that_lost_everything(queue: Queue, account: int, client: Redis) -> None:
    put_due(queue, account, [1])
    (before,) = claim(queue, account)
    forget(client, account)
    put_due(queue, account, [1])
    (after,) = claim(queue, account)
    assert after.token > before.token


def test_7_tokens_begin_above_those_of_the_rows(queue: Queue, account: int, client: Redis) -> None:
    put_due(queue, account, [1, 2])
    highest = milliseconds(server_now(client)) * 1000 + 10**12  # of a server whose clock was ahead
    queue.ask(calls.complete_rebuild(account, "second", highest))
    assert [each.token for each in claim(queue, account)] == [highest + 1, highest + 2]
    queue.ask(calls.complete_rebuild(account, "third", 5))
    put_due(queue, account, [3])
    assert [each.token for each in claim(queue, account)] == [highest + 3]

"""Claiming: which cards a round gets, how many, and what it finds of claims that nobody holds any longer."""

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
    let_pass,
    look,
    put,
    put_due,
    release,
    renew,
    server_now,
    start,
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
    put(queue, account, {5: due}, failures={STATUS: 3, PACKAGE: 7})
    (only,) = claim(queue, account)
    assert only == Claim(account, 5, only.token, (USAGE, PACKAGE), {REAL_NAME: 0, USAGE: 0, STATUS: 3, PACKAGE: 7})


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
    assert look(queue, account, 1).turn is None
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


# --- leases that ended ----------------------------------------------------------------------------------------------


def test_a_card_whose_lease_ended_is_due_at_once_and_counted(queue: Queue, account: int, client: Redis) -> None:
    put_due(queue, account, [1, 2])
    first = claim(queue, account)
    let_pass(client, account, LEASE - SECOND)
    assert claimed(queue, account) == []
    let_pass(client, account, SECOND)
    second = claim(queue, account)
    assert [each.card_id for each in second] == [1, 2]
    assert second[0].token > first[-1].token
    assert counter(queue, account, "lease_expired") == 2


def test_a_lease_ends_with_its_very_millisecond(queue: Queue, account: int) -> None:
    put_due(queue, account, [1])
    claim(queue, account, lease=30 * MILLISECOND)
    ends = look(queue, account, 1).lease_end
    assert ends is not None
    cards: list[int] = []
    while not cards:
        before, cards, after = server_now(queue._redis), claimed(queue, account), server_now(queue._redis)
        assert before < ends if not cards else after >= ends


def test_leases_that_ended_count_no_more_for_the_limit(queue: Queue, account: int, client: Redis) -> None:
    put_due(queue, account, range(1, 5))
    claim(queue, account, inflight_limit=2)
    let_pass(client, account, LEASE)
    assert claimed(queue, account, inflight_limit=2) == [1, 2]


def test_10_a_lease_that_ended_is_freed_once_whoever_looks(queue: Queue, account: int, client: Redis) -> None:
    put_due(queue, account, [1])
    claim(queue, account)
    let_pass(client, account, LEASE)
    call = calls.claim(account, most=5, inflight_limit=9, lease=LEASE, priority_share=Decimal(0))
    taken = [len(each.claims) for each in queue.perform([call, call]) if isinstance(each, Round)]
    assert sum(taken) == 1
    assert counter(queue, account, "lease_expired") == 1


def test_22_a_lease_that_ended_is_found_behind_ten_thousand_long_ones(
    queue: Queue, account: int, client: Redis
) -> None:
    put_due(queue, account, [1])
    claim(queue, account)
    let_pass(client, account, LEASE)
    for first in range(2, 10_002, 1000):
        put_due(queue, account, range(first, first + 1000))
    ends = milliseconds(server_now(client) + HOUR)
    client.zadd(key_of(account, "running"), dict.fromkeys(range(2, 10_002), ends))
    client.zadd(key_of(account, "queue"), dict.fromkeys(range(2, 10_002), ends))
    assert claimed(queue, account, inflight_limit=20_000) == [1]


def test_8_a_claim_without_its_lease_is_taken_back_when_its_turn_comes(
    queue: Queue, account: int, client: Redis
) -> None:
    put_due(queue, account, [1])
    (lost,) = claim(queue, account)
    client.zrem(key_of(account, "running"), 1)
    let_pass(client, account, LEASE)
    assert claimed(queue, account) == [], "found and given back"
    (again,) = claim(queue, account)
    assert again.card_id == 1
    assert not finish(queue, lost)
    assert counter(queue, account, "lease_expired") == 1


def test_8_a_lease_without_its_claim_ends_like_any_other(queue: Queue, account: int, client: Redis) -> None:
    put_due(queue, account, [1])
    (lost,) = claim(queue, account)
    client.hdel(key_of(account, "claims"), "1")
    assert not any((start(queue, lost), renew(queue, lost), release(queue, lost), finish(queue, lost)))
    let_pass(client, account, LEASE)
    assert claimed(queue, account) == [1]


def test_a_claimed_card_that_stands_too_early_is_pushed_behind_its_lease(
    queue: Queue, account: int, client: Redis
) -> None:
    put_due(queue, account, [1, 2])
    claim(queue, account, most=1)
    client.zadd(key_of(account, "queue"), {1: 1})
    client.zadd(key_of(account, "priority"), {1: 1})
    assert claimed(queue, account, most=1) == [2]
    sight = look(queue, account, 1)
    assert sight.turn == sight.lease_end is not None
    assert sight.priority is None


def test_a_card_that_stands_too_early_gets_its_true_place(queue: Queue, account: int, client: Redis) -> None:
    due = server_now(client) + HOUR
    put(queue, account, {1: {USAGE: due}})
    client.zadd(key_of(account, "queue"), {1: 1})
    assert claimed(queue, account) == []
    assert look(queue, account, 1).turn == due


def test_a_card_that_only_the_order_knows_leaves_it(queue: Queue, account: int, client: Redis) -> None:
    put_due(queue, account, [1])
    client.zadd(key_of(account, "priority"), {77: 1})
    assert claimed(queue, account) == [1]
    assert client.zcard(key_of(account, "priority")) == 0

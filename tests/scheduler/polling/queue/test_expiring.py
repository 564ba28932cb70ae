"""Claims that nobody holds any longer, and members that were lost: what a round finds and mends."""

from decimal import Decimal

from redis import Redis

from scheduler.polling.queue import Queue, Round, RoundState, calls
from scheduler.polling.queue.keys import key_of
from scheduler.polling.queue.packing import MILLISECOND, milliseconds
from tests.scheduler.polling.queue.states import (
    HOUR,
    LEASE,
    SECOND,
    USAGE,
    begin_second,
    claim,
    claim_round,
    claimed,
    counter,
    finish,
    let_pass,
    look,
    put,
    put_due,
    release,
    renew,
    request,
    server_now,
    start,
)


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


def test_a_card_that_has_priority_too_early_has_it_when_it_was_asked_for(
    queue: Queue, account: int, client: Redis
) -> None:
    put(queue, account, {1: {USAGE: server_now(client) + HOUR}})
    request(queue, account, 1, delay=HOUR)
    asked = look(queue, account, 1).priority
    client.zadd(key_of(account, "priority"), {1: 1})
    assert claimed(queue, account) == []
    assert look(queue, account, 1).priority == asked is not None


def test_a_card_of_which_nothing_else_is_known_leaves_the_order_which_then_lacks_another(
    queue: Queue, account: int, client: Redis
) -> None:
    put_due(queue, account, [1, 2])
    request(queue, account, 1)
    client.hdel(key_of(account, "cards"), 1)
    client.zrem(key_of(account, "queue"), 2)
    assert claimed(queue, account) == []
    assert [client.exists(key_of(account, name)) for name in ("queue", "priority", "asked")] == [0, 0, 0]
    begin_second(client, account)
    assert claim_round(queue, account).state is RoundState.NOT_READY


def test_a_card_that_only_the_order_knows_leaves_it(queue: Queue, account: int, client: Redis) -> None:
    put_due(queue, account, [1])
    client.zadd(key_of(account, "priority"), {77: 1})
    assert claimed(queue, account) == [1]
    assert client.zcard(key_of(account, "priority")) == 0


# --- without claiming -----------------------------------------------------------------------------------------------


def test_draining_gives_back_what_nobody_holds_any_longer_and_claims_nothing(
    queue: Queue, account: int, client: Redis
) -> None:
    put_due(queue, account, [1, 2, 3])
    claim(queue, account, most=2)
    let_pass(client, account, LEASE - SECOND)
    assert queue.ask(calls.drain(account)) == 2
    let_pass(client, account, SECOND)
    assert queue.ask(calls.drain(account)) == 0
    assert [counter(queue, account, name) for name in ("due", "running", "lease_expired")] == [3, 0, 2]


def test_8_draining_gives_back_a_claim_whose_lease_was_lost_and_no_other(
    queue: Queue, account: int, client: Redis
) -> None:
    put_due(queue, account, [1, 2])
    _, second = claim(queue, account)
    client.zrem(key_of(account, "running"), 1)
    assert queue.ask(calls.drain(account)) == 1
    assert [look(queue, account, card).token for card in (1, 2)] == [0, second.token]
    assert claimed(queue, account) == [1]

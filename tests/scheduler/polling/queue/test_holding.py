"""Starting and renewing: who may work on a claimed card, and for how long."""

from redis import Redis

from scheduler.polling.queue import Queue, calls
from tests.scheduler.polling.queue.states import (
    LEASE,
    MINUTE,
    SECOND,
    claim,
    claimed,
    finish,
    kept,
    let_pass,
    look,
    put_due,
    release,
    renew,
    server_now,
    start,
)


def test_23_of_two_executors_with_the_same_token_one_works(queue: Queue, account: int) -> None:
    put_due(queue, account, [1])
    (only,) = claim(queue, account)
    assert start(queue, only, "first")
    before = kept(queue._redis, account)
    assert not start(queue, only, "second")
    assert kept(queue._redis, account) == before
    assert start(queue, only, "first"), "its answer was lost, it asks again"
    assert look(queue, account, 1).executor == "first"


def test_23_a_message_that_comes_again_after_the_end_finds_nothing(queue: Queue, account: int) -> None:
    put_due(queue, account, [1])
    (only,) = claim(queue, account)
    start(queue, only, "first")
    finish(queue, only)
    before = kept(queue._redis, account)
    assert not start(queue, only, "second")
    assert not start(queue, only, "first")
    assert kept(queue._redis, account) == before


def test_an_older_token_starts_nothing(queue: Queue, account: int, client: Redis) -> None:
    put_due(queue, account, [1])
    (old,) = claim(queue, account)
    let_pass(client, account, LEASE)
    (new,) = claim(queue, account)
    assert not start(queue, old, "late")
    assert start(queue, new, "successor")


def test_starting_begins_the_lease_anew(queue: Queue, account: int, client: Redis) -> None:
    put_due(queue, account, [1])
    (only,) = claim(queue, account)
    let_pass(client, account, LEASE - SECOND)
    before = server_now(client)
    assert start(queue, only)
    sight = look(queue, account, 1)
    assert sight.lease_end is not None
    assert before + LEASE <= sight.lease_end == sight.turn
    let_pass(client, account, LEASE - SECOND)
    assert claimed(queue, account) == []


def test_a_lease_that_is_renewed_in_time_never_ends(queue: Queue, account: int, client: Redis) -> None:
    put_due(queue, account, [1])
    (only,) = claim(queue, account)
    start(queue, only)
    for _ in range(5):
        let_pass(client, account, LEASE - SECOND)
        assert renew(queue, only)
        assert claimed(queue, account) == []
    let_pass(client, account, LEASE)
    assert claimed(queue, account) == [1]


def test_a_lease_can_be_renewed_for_less_than_it_was(queue: Queue, account: int) -> None:
    put_due(queue, account, [1])
    (only,) = claim(queue, account)
    start(queue, only)
    assert renew(queue, only, lease=SECOND)
    sight = look(queue, account, 1)
    assert sight.lease_end is not None
    assert sight.lease_end < server_now(queue._redis) + MINUTE / 2


def test_2_who_lost_the_card_does_not_renew_its_successors_lease(queue: Queue, account: int, client: Redis) -> None:
    put_due(queue, account, [1])
    (old,) = claim(queue, account)
    start(queue, old, "first")
    let_pass(client, account, LEASE)
    (new,) = claim(queue, account)
    start(queue, new, "successor")
    before = kept(client, account)
    assert not renew(queue, old, "first")
    assert not renew(queue, new, "first")
    assert kept(client, account) == before
    assert renew(queue, new, "successor")


def test_what_was_not_started_is_not_renewed(queue: Queue, account: int) -> None:
    put_due(queue, account, [1])
    (only,) = claim(queue, account)
    assert not renew(queue, only)


def test_14_a_renewal_after_the_end_creates_nothing(queue: Queue, account: int) -> None:
    put_due(queue, account, [1, 2, 3])
    finished, released, removed = claim(queue, account)
    for each in (finished, released, removed):
        start(queue, each)
    finish(queue, finished)
    release(queue, released)
    queue.ask(calls.remove(account, [removed.card_id]))
    before = kept(queue._redis, account)
    assert not any(renew(queue, each) for each in (finished, released, removed))
    assert kept(queue._redis, account) == before


def test_many_cards_are_held_at_once_each_on_its_own(queue: Queue, account: int) -> None:
    put_due(queue, account, range(1, 1001))
    claims = claim(queue, account, most=1000)
    held = [(each.card_id, each.token) for each in claims]
    finish(queue, claims[500])
    expected = [at != 500 for at in range(1000)]
    assert queue.ask(calls.start(account, "poller", LEASE, held)) == expected
    assert queue.ask(calls.renew(account, "poller", LEASE, held)) == expected

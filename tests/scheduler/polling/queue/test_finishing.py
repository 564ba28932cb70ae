"""Finishing and releasing: what becomes of a card when its claim ends."""

from redis import Redis

from scheduler.polling.queue import Finish, Queue, Requested, calls
from scheduler.polling.queue.packing import MOST_FAILURES
from tests.scheduler.polling.queue.states import (
    HOUR,
    LEASE,
    MINUTE,
    PACKAGE,
    REAL_NAME,
    SECOND,
    STATUS,
    USAGE,
    claim,
    claimed,
    counter,
    finish,
    kept,
    let_pass,
    look,
    put,
    put_due,
    release,
    request,
    server_now,
    start,
)

# --- finishing ------------------------------------------------------------------------------------------------------


def test_a_finished_card_is_due_when_its_first_type_is(queue: Queue, account: int) -> None:
    put_due(queue, account, [1], types=(USAGE, STATUS))
    (only,) = claim(queue, account)
    start(queue, only)
    now = server_now(queue._redis)
    assert finish(queue, only, {USAGE: now + 2 * HOUR, STATUS: now + HOUR}, {USAGE: 0, STATUS: 2})
    sight = look(queue, account, 1)
    assert (sight.turn, sight.token, sight.lease_end, sight.executor) == (now + HOUR, 0, None, "")
    assert sight.due == {REAL_NAME: None, USAGE: now + 2 * HOUR, STATUS: now + HOUR, PACKAGE: None}
    assert sight.failures == {REAL_NAME: 0, USAGE: 0, STATUS: 2, PACKAGE: 0}
    assert counter(queue, account, "running") == 0


def test_types_that_are_not_named_stay_as_they_are(queue: Queue, account: int) -> None:
    now = server_now(queue._redis)
    put(queue, account, {1: {USAGE: now - MINUTE, STATUS: now + HOUR}}, {USAGE: 3, STATUS: 4})
    (only,) = claim(queue, account)
    finish(queue, only, due={USAGE: now + 2 * HOUR}, failures={})
    sight = look(queue, account, 1)
    assert sight.due == {REAL_NAME: None, USAGE: now + 2 * HOUR, STATUS: now + HOUR, PACKAGE: None}
    assert sight.failures == {REAL_NAME: 0, USAGE: 3, STATUS: 4, PACKAGE: 0}
    assert sight.turn == now + HOUR


def test_a_type_that_is_checked_no_more_is_not_due(queue: Queue, account: int) -> None:
    put_due(queue, account, [1])
    (only,) = claim(queue, account)
    finish(queue, only, due={USAGE: None})
    assert look(queue, account, 1).turn is None
    assert claimed(queue, account) == []


def test_failures_beyond_what_is_kept_are_the_most_that_is(queue: Queue, account: int) -> None:
    put_due(queue, account, [1])
    (only,) = claim(queue, account)
    finish(queue, only, failures={USAGE: 10**6})
    assert look(queue, account, 1).failures[USAGE] == MOST_FAILURES


def test_1_a_stale_finish_changes_nothing_and_is_counted(queue: Queue, account: int, client: Redis) -> None:
    put_due(queue, account, [1])
    (slow,) = claim(queue, account)
    let_pass(client, account, LEASE)
    (successor,) = claim(queue, account)
    before = kept(client, account)
    assert not finish(queue, slow)
    assert kept(client, account) == before
    assert counter(queue, account, "stale_finish") == 1
    assert finish(queue, successor)
    assert not finish(queue, successor), "twice"
    assert (counter(queue, account, "finished"), counter(queue, account, "stale_finish")) == (1, 2)


def test_a_late_finish_counts_as_long_as_nobody_else_has_the_card(queue: Queue, account: int, client: Redis) -> None:
    put_due(queue, account, [1])
    (late,) = claim(queue, account)
    let_pass(client, account, 2 * LEASE)
    assert finish(queue, late)
    assert claimed(queue, account) == []


def test_the_finish_of_a_card_that_was_removed_does_not_bring_it_back(queue: Queue, account: int) -> None:
    put_due(queue, account, [1])
    (only,) = claim(queue, account)
    queue.ask(calls.remove(account, [1]))
    assert not finish(queue, only)
    assert queue.ask(calls.look(account, 1)) is None
    assert list(queue.cards(account)) == []


def test_many_cards_finish_at_once_each_on_its_own(queue: Queue, account: int) -> None:
    put_due(queue, account, range(1, 1001))
    claims = claim(queue, account, most=1000)
    later = server_now(queue._redis) + HOUR
    finishes = [Finish(each.card_id, each.token + (at == 7), {USAGE: later}, {}) for at, each in enumerate(claims)]
    assert queue.ask(calls.finish(account, finishes)) == [at != 7 for at in range(1000)]
    assert counter(queue, account, "running") == 1


def test_of_many_that_finish_at_once_each_is_counted_as_what_it_is(queue: Queue, account: int) -> None:
    put_due(queue, account, [1, 2, 3])
    finish(queue, (claims := claim(queue, account))[0])
    due = {USAGE: server_now(queue._redis) + HOUR}
    assert queue.ask(calls.finish(account, [Finish(each.card_id, each.token, due, {}) for each in claims])) == [0, 1, 1]
    assert [counter(queue, account, name) for name in ("finished", "stale_finish")] == [3, 1]


def test_of_a_card_that_finishes_twice_in_one_call_the_first_counts(queue: Queue, account: int) -> None:
    put_due(queue, account, [1])
    (only,) = claim(queue, account)
    now = server_now(queue._redis)
    both = [Finish(1, only.token, {USAGE: now + hours * HOUR}, {}) for hours in (1, 2)]
    assert queue.ask(calls.finish(account, both)) == [True, False]
    assert look(queue, account, 1).turn == now + HOUR


def test_41_a_card_that_is_due_earlier_and_then_later_is_in_the_queue_once(queue: Queue, account: int) -> None:
    put_due(queue, account, [1])
    for hours in (3, 1, 2):
        put(queue, account, {1: {USAGE: server_now(queue._redis) + hours * HOUR}})
        assert counter(queue, account, "cards") == 1
    put_due(queue, account, [1])
    assert claimed(queue, account) == [1]
    assert list(queue.cards(account)) == [1]


# --- requests while it runs -----------------------------------------------------------------------------------------


def test_40_a_request_while_it_runs_is_run_at_once_after_the_finish(queue: Queue, account: int) -> None:
    put_due(queue, account, [1, 2])
    first, _ = claim(queue, account)
    start(queue, first)
    assert request(queue, account, 1, [USAGE]) == Requested.AFTER_THIS_RUN
    assert claimed(queue, account) == [], "never twice at once"
    finish(queue, first)
    assert look(queue, account, 1).priority is not None
    (again,) = claim(queue, account)
    assert (again.card_id, again.types) == (1, (USAGE,))
    finish(queue, again)
    assert claimed(queue, account) == [], "once more, not for ever"


def test_40_the_cooldown_of_a_request_does_not_hold_up_its_own_run(queue: Queue, account: int) -> None:
    put_due(queue, account, [1])
    (first,) = claim(queue, account)
    assert request(queue, account, 1, scene="paid", cooldown=HOUR) == Requested.AFTER_THIS_RUN
    assert request(queue, account, 1, scene="paid", cooldown=HOUR) == Requested.COOLING
    finish(queue, first)
    assert claimed(queue, account) == [1]


def test_a_request_for_later_that_comes_while_it_runs_keeps_its_time(queue: Queue, account: int, client: Redis) -> None:
    put_due(queue, account, [1])
    (first,) = claim(queue, account)
    request(queue, account, 1, [USAGE], delay=MINUTE)
    finish(queue, first)
    assert claimed(queue, account) == []
    let_pass(client, account, MINUTE - SECOND)
    assert claimed(queue, account) == []
    let_pass(client, account, SECOND)
    assert claimed(queue, account) == [1]


# --- releasing ------------------------------------------------------------------------------------------------------


def test_a_released_card_is_as_if_it_had_not_been_claimed(queue: Queue, account: int) -> None:
    put_due(queue, account, [1, 2])
    request(queue, account, 2, [PACKAGE])
    before = kept(queue._redis, account)
    for each in claim(queue, account):
        assert release(queue, each)
    assert kept(queue._redis, account) == before
    assert counter(queue, account, "released") == 2


def test_a_claim_that_is_over_is_not_released(queue: Queue, account: int, client: Redis) -> None:
    put_due(queue, account, [1])
    (old,) = claim(queue, account)
    let_pass(client, account, LEASE)
    (new,) = claim(queue, account)
    before = kept(client, account)
    assert not release(queue, old)
    assert kept(client, account) == before
    finish(queue, new)
    assert not release(queue, new)


def test_a_released_card_is_asked_for_what_it_was_and_what_came_meanwhile(queue: Queue, account: int) -> None:
    put(queue, account, {1: {USAGE: None}})
    request(queue, account, 1, [USAGE])
    (only,) = claim(queue, account)
    request(queue, account, 1, [STATUS])
    assert release(queue, only)
    (again,) = claim(queue, account)
    assert again.types == (USAGE, STATUS)


def test_an_ended_lease_gives_back_what_the_card_was_asked_for(queue: Queue, account: int, client: Redis) -> None:
    put(queue, account, {1: {USAGE: None}})
    request(queue, account, 1, [USAGE])
    claim(queue, account)
    let_pass(client, account, LEASE)
    (again,) = claim(queue, account)
    assert again.types == (USAGE,)

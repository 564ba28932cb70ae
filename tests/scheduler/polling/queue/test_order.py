"""Cards that come, change, go and are rebuilt; and what can be seen of them."""

from redis import Redis

from scheduler.polling.queue import Card, Counts, Queue, Requested, RoundState, Sight, calls
from scheduler.polling.queue.keys import key_of
from tests.scheduler.polling.queue.states import (
    HOUR,
    LEASE,
    MINUTE,
    PACKAGE,
    REAL_NAME,
    STATUS,
    USAGE,
    claim,
    claim_round,
    claimed,
    finish,
    forget,
    let_pass,
    look,
    put,
    put_due,
    release,
    request,
    server_now,
    start,
)

# --- put ------------------------------------------------------------------------------------------------------------


def test_a_card_that_is_put_is_due_when_its_first_type_is(queue: Queue, account: int, client: Redis) -> None:
    now = server_now(client)
    put(queue, account, {1: {USAGE: now + 2 * HOUR, STATUS: now + HOUR, PACKAGE: None}})
    sight = look(queue, account, 1)
    assert sight.turn == now + HOUR
    assert sight.due == {REAL_NAME: None, USAGE: now + 2 * HOUR, STATUS: now + HOUR, PACKAGE: None}


def test_a_card_that_is_put_again_is_what_was_put_last(queue: Queue, account: int, client: Redis) -> None:
    now = server_now(client)
    cards = [Card(card, {USAGE: now}, {USAGE: 2}) for card in (1, 2)]
    assert queue.ask(calls.put(account, cards)) == 2
    assert queue.ask(calls.put(account, [Card(2, {STATUS: now + HOUR}, {}), Card(3, {}, {})])) == 1
    sight = look(queue, account, 2)
    assert (sight.turn, sight.due[USAGE], sight.failures[USAGE]) == (now + HOUR, None, 0)
    assert sorted(queue.cards(account)) == [1, 2, 3]


def test_a_card_that_is_put_while_it_is_claimed_keeps_its_claim(queue: Queue, account: int, client: Redis) -> None:
    put_due(queue, account, [1])
    (only,) = claim(queue, account)
    before, now = look(queue, account, 1), server_now(client)
    put(queue, account, {1: {USAGE: now, STATUS: now + HOUR}})
    after = look(queue, account, 1)
    assert (after.turn, after.lease_end, after.token) == (before.turn, before.lease_end, only.token)
    assert claimed(queue, account) == []
    assert finish(queue, only, due={USAGE: now + 2 * HOUR})
    assert look(queue, account, 1).turn == now + HOUR


def test_a_card_that_is_put_while_it_is_asked_for_still_is(queue: Queue, account: int, client: Redis) -> None:
    put_due(queue, account, [1])
    request(queue, account, 1, [PACKAGE])
    put(queue, account, {1: {USAGE: server_now(client) + HOUR}})
    (only,) = claim(queue, account)
    assert only.types == (PACKAGE,)


def test_cards_whose_priority_was_lost_have_it_again_when_they_are_put(
    queue: Queue, account: int, client: Redis
) -> None:
    put_due(queue, account, [1])
    request(queue, account, 1, [PACKAGE])
    before = look(queue, account, 1).priority
    client.delete(key_of(account, "priority"))
    put_due(queue, account, [1])
    assert look(queue, account, 1).priority == before is not None


# --- remove ---------------------------------------------------------------------------------------------------------


def test_a_card_that_is_removed_is_nowhere(queue: Queue, account: int, client: Redis) -> None:
    put_due(queue, account, [1, 2, 3])
    first = claim(queue, account, most=1)[0]
    start(queue, first)
    request(queue, account, 1)
    request(queue, account, 2)
    assert queue.ask(calls.remove(account, [1, 2, 99])) == 2
    assert queue.ask(calls.look(account, 2)) is None
    assert not release(queue, first)
    for name in ("asked", "priority", "running", "claims"):
        assert not client.exists(key_of(account, name)), name
    assert claimed(queue, account) == [3]


def test_a_card_that_is_removed_and_put_again_has_no_claim(queue: Queue, account: int) -> None:
    put_due(queue, account, [1])
    (old,) = claim(queue, account)
    queue.ask(calls.remove(account, [1]))
    put_due(queue, account, [1])
    (new,) = claim(queue, account)
    assert not finish(queue, old)
    assert finish(queue, new)


# --- rebuild --------------------------------------------------------------------------------------------------------


def test_a_rebuild_forgets_cards_that_are_not_put_again(queue: Queue, account: int) -> None:
    put_due(queue, account, [1, 2])
    queue.ask(calls.begin_rebuild(account))
    put_due(queue, account, [2])
    assert list(queue.cards(account)) == [2]
    assert queue.ask(calls.look(account, 1)) is None


def test_a_rebuild_keeps_claims_and_requests(queue: Queue, account: int) -> None:
    put_due(queue, account, [1, 2, 3])
    first, second = claim(queue, account, most=2)
    start(queue, first)
    request(queue, account, 2, [STATUS])
    request(queue, account, 3, [STATUS])
    before = look(queue, account, 1)
    queue.ask(calls.begin_rebuild(account))
    put_due(queue, account, [1, 2, 3])
    after = look(queue, account, 1)
    assert (after.turn, after.token, after.executor) == (before.turn, first.token, "poller")
    assert [each.types for each in claim(queue, account)] == [(USAGE, STATUS)]
    assert finish(queue, first)
    assert finish(queue, second)
    assert [(each.card_id, each.types) for each in claim(queue, account)] == [(2, (STATUS,))]


def test_a_claim_of_a_card_that_is_not_put_again_ends_with_its_lease(queue: Queue, account: int, client: Redis) -> None:
    put_due(queue, account, [1, 2])
    (gone,) = claim(queue, account, most=1)
    queue.ask(calls.begin_rebuild(account))
    put_due(queue, account, [2])
    assert not finish(queue, gone)
    let_pass(client, account, LEASE)
    assert claimed(queue, account) == [2]
    assert list(queue.cards(account)) == [2]
    assert client.hkeys(key_of(account, "claims")) == [b"2"]


def test_cards_in_work_while_the_order_was_lost_are_there_again_after_the_rebuild(
    queue: Queue, account: int, client: Redis
) -> None:
    put_due(queue, account, [1, 2])
    first, _ = claim(queue, account)
    client.delete(key_of(account, "queue"), key_of(account, "running"))
    assert claim_round(queue, account).state is RoundState.DONE
    put_due(queue, account, [1, 2])
    assert finish(queue, first)
    let_pass(client, account, LEASE)
    assert claimed(queue, account) == [], "a claim without a lease is given back"
    assert claimed(queue, account) == [2]


# --- looking and counting -------------------------------------------------------------------------------------------


def test_looking_tells_all_about_a_card_and_changes_nothing(queue: Queue, account: int, client: Redis) -> None:
    put_due(queue, account, [1, 2, 3], types=(USAGE, STATUS))
    request(queue, account, 2, [PACKAGE], delay=MINUTE)
    state = client.dump(key_of(account, "state"))
    sight = look(queue, account, 2)
    due = sight.due[USAGE]
    assert sight == Sight(
        now=sight.now,
        due={REAL_NAME: None, USAGE: due, STATUS: due, PACKAGE: None},
        failures=dict.fromkeys((REAL_NAME, USAGE, STATUS, PACKAGE), 0),
        asked={PACKAGE: sight.priority},
        turn=due,
        before=1,
        priority=sight.priority,
        lease_end=None,
        token=0,
        types=(),
        executor="",
    )
    assert sight.priority is not None
    assert MINUTE - MINUTE / 2 < sight.priority - sight.now <= MINUTE
    assert client.dump(key_of(account, "state")) == state


def test_counting_tells_how_an_account_stands(queue: Queue, account: int, client: Redis) -> None:
    assert queue.ask(calls.count(account)) == Counts("", *[0] * 10)
    put_due(queue, account, range(1, 11))
    first, second, third, _ = claim(queue, account, most=4)
    finish(queue, first)
    finish(queue, first)
    release(queue, second)
    request(queue, account, 9)
    request(queue, account, 10, delay=HOUR)
    assert request(queue, account, third.card_id) is Requested.AFTER_THIS_RUN
    assert queue.ask(calls.count(account)) == Counts(
        epoch="first",
        cards=10,
        due=7,
        asked=2,
        asked_now=1,
        running=2,
        claimed=4,
        finished=1,
        released=1,
        lease_expired=0,
        stale_finish=1,
    )
    let_pass(client, account, LEASE)
    claimed(queue, account)
    assert queue.ask(calls.count(account)).lease_expired == 2
    forget(client, account)
    assert queue.ask(calls.count(account)) == Counts("", *[0] * 10)

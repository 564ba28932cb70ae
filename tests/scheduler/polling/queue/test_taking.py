"""Taking: a card is claimed for something else than its checks, and is as it was afterwards."""

from redis import Redis

from scheduler.polling.queue import Queue, calls
from scheduler.polling.queue.keys import key_of
from scheduler.polling.queue.packing import milliseconds
from tests.scheduler.polling.queue.states import (
    LEASE,
    USAGE,
    claim,
    let_pass,
    look,
    put_due,
    request,
    server_now,
)


def take(queue: Queue, account: int, *cards: int) -> list[int]:
    """Take cards."""
    return queue.ask(calls.take(account, cards, LEASE))


def release(queue: Queue, account: int, card: int, token: int) -> bool:
    """Give a taken card back."""
    [released] = queue.ask(calls.release(account, [(card, token)]))
    return released


def test_a_taken_card_is_not_claimed_for_its_checks_and_is_due_as_before_when_it_is_given_back(
    queue: Queue, account: int
) -> None:
    put_due(queue, account, [1, 2])
    before = look(queue, account, 1).turn
    [token] = take(queue, account, 1)
    assert [each.card_id for each in claim(queue, account)] == [2]
    assert release(queue, account, 1, token)
    assert look(queue, account, 1).turn == before
    assert [each.card_id for each in claim(queue, account)] == [1]


def test_a_card_that_is_claimed_is_not_taken_and_a_taken_one_not_taken_again(queue: Queue, account: int) -> None:
    put_due(queue, account, [1])
    claim(queue, account)
    assert take(queue, account, 1) == [0]
    [first, second] = take(queue, account, 2, 2)
    assert (first > 0, second) == (True, 0)
    assert take(queue, account, 2) == [0]


def test_tokens_of_taken_cards_grow_with_those_of_claims(queue: Queue, account: int) -> None:
    put_due(queue, account, [1])
    (only,) = claim(queue, account)
    one, other = take(queue, account, 2, 3)
    assert only.token < one < other


def test_7_tokens_of_taken_cards_begin_above_those_of_the_rows_and_are_given_once(queue: Queue, account: int) -> None:
    put_due(queue, account, [1])
    highest = milliseconds(server_now(queue._redis)) * 1000 + 10**12  # of a server whose clock was ahead
    queue.ask(calls.complete_rebuild(account, "second", highest))
    assert take(queue, account, 2, 3) == [highest + 1, highest + 2]
    (only,) = claim(queue, account)
    assert [only.token, *take(queue, account, 4)] == [highest + 3, highest + 4]


def test_a_card_that_was_asked_for_has_no_priority_while_it_is_taken(queue: Queue, account: int) -> None:
    put_due(queue, account, [1])
    request(queue, account, 1)
    [token] = take(queue, account, 1)
    assert look(queue, account, 1).priority is None
    release(queue, account, 1, token)
    assert look(queue, account, 1).priority is not None


def test_a_card_that_is_not_polled_is_taken_all_the_same_and_the_order_stays_complete(
    queue: Queue, account: int, client: Redis
) -> None:
    put_due(queue, account, [1])
    [token] = take(queue, account, 7)
    assert client.zscore(key_of(account, "queue"), "7") is None
    assert [each.card_id for each in claim(queue, account)] == [1]
    assert release(queue, account, 7, token)
    assert queue.ask(calls.count(account)).cards == 1


def test_a_request_for_a_taken_card_waits_until_it_is_given_back(queue: Queue, account: int) -> None:
    put_due(queue, account, [1])
    [token] = take(queue, account, 1)
    queue.ask(calls.request(account, [1], [USAGE]))
    assert not claim(queue, account)
    release(queue, account, 1, token)
    assert look(queue, account, 1).priority is not None


def test_a_taken_card_that_nobody_gives_back_is_free_after_its_lease(queue: Queue, account: int, client: Redis) -> None:
    put_due(queue, account, [1])
    [token] = take(queue, account, 1)
    let_pass(client, account, LEASE)
    assert [each.card_id for each in claim(queue, account)] == [1]
    assert not release(queue, account, 1, token)


def test_a_card_that_is_put_while_it_is_taken_is_claimed_after_it_was_given_back(queue: Queue, account: int) -> None:
    put_due(queue, account, [2])
    [token] = take(queue, account, 1)
    put_due(queue, account, [1])
    assert [each.card_id for each in claim(queue, account)] == [2]
    release(queue, account, 1, token)
    assert [each.card_id for each in claim(queue, account)] == [1]

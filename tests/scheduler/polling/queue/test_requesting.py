"""Requests: checks beside the schedule."""

import pytest
from redis import Redis

from scheduler.polling.queue import Queue, Requested, calls
from scheduler.polling.queue.keys import key_of
from tests.scheduler.polling.queue.states import (
    HOUR,
    MINUTE,
    PACKAGE,
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
    request,
    server_now,
)


@pytest.fixture
def card(queue: Queue, account: int, client: Redis) -> int:
    """A card whose usage is due in an hour."""
    put(queue, account, {1: {USAGE: server_now(client) + HOUR}})
    return 1


def test_what_is_asked_for_is_checked_at_once_and_nothing_else(queue: Queue, account: int, card: int) -> None:
    assert request(queue, account, card, [STATUS]) == Requested.ASKED
    (only,) = claim(queue, account)
    assert (only.card_id, only.types) == (card, (STATUS,))


def test_a_request_changes_nothing_in_the_schedule(queue: Queue, account: int, card: int) -> None:
    before = look(queue, account, card)
    request(queue, account, card, [USAGE])
    (only,) = claim(queue, account)
    finish(queue, only, due={})
    after = look(queue, account, card)
    assert (after.due, after.turn, counter(queue, account, "asked")) == (before.due, before.turn, 0)
    assert claimed(queue, account) == []


def test_doubled_requests_are_one(queue: Queue, account: int, card: int) -> None:
    assert request(queue, account, card) == Requested.ASKED
    before = kept(queue._redis, account)
    assert request(queue, account, card) == Requested.MERGED
    assert kept(queue._redis, account) == before
    assert request(queue, account, card, [USAGE, PACKAGE]) == Requested.ASKED
    (only,) = claim(queue, account)
    assert only.types == (USAGE, PACKAGE)
    assert claimed(queue, account) == []


def test_doubled_requests_for_a_card_in_work_are_one(queue: Queue, account: int) -> None:
    put_due(queue, account, [1])
    claim(queue, account)
    assert request(queue, account, 1) == Requested.AFTER_THIS_RUN
    assert request(queue, account, 1) == Requested.MERGED


def test_of_two_requests_the_earlier_time_counts(queue: Queue, account: int, card: int) -> None:
    request(queue, account, card, delay=2 * MINUTE)
    assert request(queue, account, card, delay=MINUTE) == Requested.ASKED
    sooner = look(queue, account, card)
    assert request(queue, account, card, delay=3 * MINUTE) == Requested.MERGED
    after = look(queue, account, card)
    assert after.asked == sooner.asked
    assert after.priority == sooner.priority == after.asked[USAGE] < server_now(queue._redis) + MINUTE + SECOND


def test_a_request_for_later_waits_for_its_time(queue: Queue, account: int, card: int, client: Redis) -> None:
    request(queue, account, card, delay=MINUTE)
    let_pass(client, account, MINUTE - SECOND)
    assert claimed(queue, account) == []
    assert (counter(queue, account, "asked"), counter(queue, account, "asked_now")) == (1, 0)
    let_pass(client, account, SECOND)
    assert counter(queue, account, "asked_now") == 1
    assert claimed(queue, account) == [card]


def test_a_request_for_later_stands_beside_a_check_that_is_due_before(
    queue: Queue, account: int, client: Redis
) -> None:
    put_due(queue, account, [1])
    request(queue, account, 1, [USAGE], delay=MINUTE)
    (by_schedule,) = claim(queue, account)
    finish(queue, by_schedule)
    let_pass(client, account, MINUTE)
    assert claimed(queue, account) == [1]


def test_a_scene_asks_for_a_card_again_only_after_its_cooldown(
    queue: Queue, account: int, card: int, client: Redis
) -> None:
    def asks(scene: str) -> Requested:
        return request(queue, account, card, scene=scene, cooldown=MINUTE)

    assert asks("page") == Requested.ASKED
    finish(queue, claim(queue, account)[0])
    before = kept(client, account)
    assert asks("page") == Requested.COOLING
    assert kept(client, account) == before
    assert asks("link") == Requested.ASKED, "another scene"
    let_pass(client, account, MINUTE - SECOND)
    assert asks("page") == Requested.COOLING
    let_pass(client, account, SECOND)
    assert asks("page") == Requested.MERGED


def test_the_cooldown_of_one_card_is_none_of_another(queue: Queue, account: int) -> None:
    due = {USAGE: server_now(queue._redis) + HOUR}
    put(queue, account, {1: due, 2: due})
    asked = [request(queue, account, card, scene="page", cooldown=MINUTE) for card in (1, 2)]
    assert asked == [Requested.ASKED, Requested.ASKED]


def test_a_cooldown_that_was_taken_from_a_scene_cools_no_more(queue: Queue, account: int, card: int) -> None:
    request(queue, account, card, scene="page", cooldown=MINUTE)
    finish(queue, claim(queue, account)[0])
    assert request(queue, account, card, scene="page") == Requested.ASKED


def test_a_scene_without_a_cooldown_asks_as_often_as_it_likes(queue: Queue, account: int, card: int) -> None:
    for _ in range(2):
        assert request(queue, account, card, scene="paid") == Requested.ASKED
        finish(queue, claim(queue, account)[0])


def test_cooldowns_that_are_over_are_forgotten(queue: Queue, account: int, card: int, client: Redis) -> None:
    request(queue, account, card, scene="page", cooldown=MINUTE)
    let_pass(client, account, MINUTE)
    request(queue, account, card)
    assert client.exists(key_of(account, "cooldowns")) == 0


def test_a_card_that_is_not_there_is_unknown_and_leaves_nothing(queue: Queue, account: int, card: int) -> None:
    before = kept(queue._redis, account)
    assert request(queue, account, 99, scene="page", cooldown=MINUTE) == Requested.UNKNOWN
    assert kept(queue._redis, account) == before


def test_many_cards_are_asked_for_at_once_each_on_its_own(queue: Queue, account: int, card: int) -> None:
    put_due(queue, account, range(2, 1001))
    claim(queue, account, most=1)
    outcomes = queue.ask(calls.request(account, [99_999, *range(1, 1000)], [USAGE]))
    assert outcomes == [Requested.UNKNOWN, Requested.ASKED, Requested.AFTER_THIS_RUN, *[Requested.ASKED] * 997]


def test_a_card_named_twice_is_asked_for_once(queue: Queue, account: int, card: int) -> None:
    arguments = {"scene": "page", "cooldown": MINUTE}
    assert queue.ask(calls.request(account, [card, card], [USAGE], **arguments)) == [
        Requested.ASKED,
        Requested.COOLING,
    ]


def test_a_request_without_types_is_refused(account: int) -> None:
    with pytest.raises(ValueError, match="types: name at least one"):
        calls.request(account, [1], [])

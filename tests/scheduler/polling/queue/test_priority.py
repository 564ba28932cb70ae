"""Priority: cards that are asked for and cards that are due share what may be taken."""

from decimal import Decimal

import pytest
from redis import Redis

from quotas.ratelimit import Window
from scheduler.polling.queue import Queue, calls
from tests.scheduler.polling.queue.states import (
    HOUR,
    LEASE,
    PACKAGE,
    SECOND,
    STATUS,
    USAGE,
    claim,
    claimed,
    finish,
    let_pass,
    look,
    put,
    put_due,
    request,
    server_now,
)

REGULAR, ASKED = range(1000, 2000), range(5000, 6000)


def fill(queue: Queue, account: int) -> None:
    """A thousand cards that are due by schedule, and a thousand that are asked for."""
    put_due(queue, account, REGULAR)
    later = server_now(queue._redis) + HOUR
    put(queue, account, {card: {USAGE: later} for card in ASKED})
    queue.ask(calls.request(account, ASKED, [USAGE]))


@pytest.mark.parametrize("most", [1, 2, 3, 7, 100])
@pytest.mark.parametrize("share", ["0.01", "0.25", "0.5", "0.7", "0.99"])
def test_37_while_both_wait_priority_gets_its_share_exactly(queue: Queue, account: int, share: str, most: int) -> None:
    fill(queue, account)
    cards: list[int] = []
    while len(cards) < 200:
        cards += claimed(queue, account, most=most, priority_share=Decimal(share))
    for count in (100, 200):
        assert sum(card in ASKED for card in cards[:count]) == int(Decimal(share) * count)


def test_the_share_is_kept_in_any_stretch_of_cards(queue: Queue, account: int) -> None:
    fill(queue, account)
    cards = claimed(queue, account, most=200, priority_share=Decimal("0.2"))
    assert all(sum(card in ASKED for card in cards[at : at + 5]) == 1 for at in range(0, 196))


@pytest.mark.parametrize("share", ["0", "1"])
def test_37_neither_kind_ever_starves(queue: Queue, account: int, share: str) -> None:
    fill(queue, account)
    cards = claimed(queue, account, most=200, priority_share=Decimal(share))
    asked = sum(card in ASKED for card in cards)
    assert asked == (2 if share == "0" else 198)


@pytest.mark.parametrize("share", ["0", "1"])
def test_who_waits_alone_gets_everything(queue: Queue, account: int, share: str) -> None:
    fill(queue, account)
    queue.ask(calls.remove(account, list(ASKED)))
    assert len(claim(queue, account, most=100, priority_share=Decimal(share))) == 100
    queue.ask(calls.remove(account, list(REGULAR)))
    fill(queue, account)
    queue.ask(calls.remove(account, list(REGULAR)))
    assert len(claim(queue, account, most=100, priority_share=Decimal(share))) == 100


def test_37_requests_without_end_leave_cards_that_become_due_later_their_share(queue: Queue, account: int) -> None:
    """Cards that are asked for do not wait in the order of the schedule, where they would be before these."""
    fill(queue, account)
    queue.ask(calls.remove(account, list(REGULAR)))
    put_due(queue, account, [1])
    assert 1 in claimed(queue, account, most=3, priority_share=Decimal("0.5"))


def test_cards_that_are_asked_for_are_taken_in_the_order_of_asking(queue: Queue, account: int, client: Redis) -> None:
    later = server_now(client) + HOUR
    put(queue, account, {card: {USAGE: later} for card in (1, 2, 3)})
    for card in (2, 3, 1):
        request(queue, account, card)
        let_pass(client, account, SECOND)
    assert claimed(queue, account, most=2) == [2, 3]


def test_38_a_card_that_is_asked_for_later_is_next_when_its_time_comes(
    queue: Queue, account: int, client: Redis
) -> None:
    put_due(queue, account, REGULAR)
    put(queue, account, {1: {USAGE: server_now(client) + HOUR}})
    request(queue, account, 1, delay=2 * SECOND)
    assert 1 not in claimed(queue, account, most=5, priority_share=Decimal(1))
    let_pass(client, account, 2 * SECOND)
    assert claimed(queue, account, most=2, priority_share=Decimal("0.5"))[1] == 1


def test_a_card_both_due_and_asked_for_is_taken_once(queue: Queue, account: int) -> None:
    put_due(queue, account, [1, 2])
    request(queue, account, 2, [STATUS])
    claims = claim(queue, account)
    assert sorted((each.card_id, each.types) for each in claims) == [(1, (USAGE,)), (2, (USAGE, STATUS))]
    assert claimed(queue, account) == []


def test_a_claim_takes_along_what_has_come_and_leaves_what_is_asked_for_later(
    queue: Queue, account: int, client: Redis
) -> None:
    put(queue, account, {1: {USAGE: None}})
    request(queue, account, 1, [STATUS])
    request(queue, account, 1, [PACKAGE], delay=LEASE)
    (first,) = claim(queue, account)
    assert first.types == (STATUS,)
    assert list(look(queue, account, 1).asked) == [PACKAGE]
    let_pass(client, account, LEASE / 2)
    finish(queue, first, due={})
    assert claimed(queue, account) == []
    let_pass(client, account, LEASE / 2)
    (second,) = claim(queue, account)
    assert second.types == (PACKAGE,)


def test_credit_is_spent_only_on_cards_that_are_taken(queue: Queue, account: int) -> None:
    fill(queue, account)
    cards: list[int] = []
    while len(cards) < 20:
        cards += claimed(queue, account, most=50, windows=[Window(1, 60)], priority_share=Decimal("0.5"))
    assert sum(card in ASKED for card in cards) == 10

"""The calls of an account are counted on the server's clock, over all pollers."""

from datetime import timedelta

import pytest
from redis import Redis

from scheduler.polling.queue import Queue, Traffic, calls
from scheduler.polling.queue.keys import key_of

NOTHING = Traffic(0, 0, 0, timedelta(0), 0)


def note(queue: Queue, account: int, made: int, **said: int) -> None:
    said = {"waits": 0, "timeouts": 0} | said
    queue.ask(calls.note_traffic(account, made=made, waited=timedelta(milliseconds=250), **said))


def key(account: int) -> str:
    return key_of(account, "traffic")


def age(client: Redis, account: int, seconds: int) -> None:
    """Let what was noted be so many seconds older."""
    noted = {field: value.split() for field, value in client.hgetall(key(account)).items() if b" " in value}
    client.hdel(key(account), *noted)
    for second, made in noted.values():
        client.hset(key(account), (int(second) - seconds) % 64, f"{int(second) - seconds} {int(made)}")


def test_an_account_of_which_nothing_is_known_made_no_calls(queue: Queue, account: int) -> None:
    assert queue.ask(calls.traffic(account)) == NOTHING


def test_what_pollers_note_in_one_second_or_several_is_added_up(client: Redis, queue: Queue, account: int) -> None:
    note(queue, account, 5, waits=3)
    note(queue, account, 7, waits=1, timeouts=2)
    age(client, account, 10)
    note(queue, account, 60)
    age(client, account, 1)
    told = queue.ask(calls.traffic(account))
    assert told == Traffic(72, 72, 4, timedelta(milliseconds=750), 2)
    assert told.rate == 72 / 60


def test_the_present_second_is_not_over_and_does_not_count_yet(client: Redis, queue: Queue, account: int) -> None:
    while True:
        second = client.time()[0]
        note(queue, account, 5)
        told = queue.ask(calls.traffic(account))
        if client.time()[0] == second:  # else it has ended meanwhile
            break
        age(client, account, 64)
    assert told.lately == 0
    assert told.calls > 0


@pytest.mark.parametrize(("seconds", "lately"), [(58, 5), (70, 0)])
def test_only_the_last_minute_counts_as_lately(
    seconds: int, lately: int, client: Redis, queue: Queue, account: int
) -> None:
    note(queue, account, 5)
    age(client, account, seconds)
    told = queue.ask(calls.traffic(account))
    assert (told.lately, told.calls) == (lately, 5)


def test_a_field_that_comes_round_again_begins_anew(client: Redis, queue: Queue, account: int) -> None:
    for _ in range(3):
        note(queue, account, 5)
        age(client, account, 64)
    note(queue, account, 7)
    age(client, account, 2)
    assert queue.ask(calls.traffic(account)).lately == 7


def test_what_is_noted_of_an_account_that_is_gone_ends_by_itself(client: Redis, queue: Queue, account: int) -> None:
    note(queue, account, 5)
    assert 0 < client.ttl(key(account)) <= 7 * 86_400

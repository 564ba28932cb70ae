"""What Redis keeps of a limiter: a clock that only goes forward, and keys that all end."""

from collections.abc import Callable
from uuid import uuid4

import pytest
from redis import Redis
from redis.crc import key_slot

from quotas.ratelimit import Limiter, Window
from quotas.ratelimit.calls import Calls
from tests.quotas.ratelimit.states import SECOND, keys_of, let_pass, passes, set_clock_back, slot, slots

MINUTE = 60


# --- clocks ---------------------------------------------------------------------------------------------------------


def test_b30_a_server_clock_set_back_neither_gives_extra_calls_nor_makes_anybody_wait_for_it(
    client: Redis, name: str
) -> None:
    limiter = Limiter(client, name, [Window(5, 1), Window(6, MINUTE)])
    before = [limiter.book() for _ in range(5)]
    set_clock_back(client, name, 3600)
    after = [limiter.book() for _ in range(2)]
    ahead = 3600 * SECOND
    assert after[0].token > before[-1].token + ahead
    assert slot(after[0]) == slot(before[-1]) + ahead + SECOND // 5
    assert slot(after[1]) == slot(before[0]) + ahead + MINUTE * SECOND
    assert after[1].microseconds <= MINUTE * SECOND


@pytest.mark.parametrize("ask", [passes, Limiter.left], ids=["by a call", "by asking what is left"])
def test_b30_a_clock_set_back_goes_on_even_where_nothing_is_booked(
    client: Redis, name: str, ask: Callable[[Limiter], int]
) -> None:
    limiter = Limiter(client, name, [Window(1, MINUTE)])
    limiter.book()
    set_clock_back(client, name, 3600)
    assert not ask(limiter)
    let_pass(client, name, MINUTE)
    assert passes(limiter)


def test_b30_after_a_clock_was_set_back_and_a_call_refused_a_slot_still_goes_back_to_where_it_was(
    client: Redis, name: str
) -> None:
    limiter = Limiter(client, name, [Window(2, 1)])
    _, second = limiter.book(), limiter.book()
    set_clock_back(client, name, 3600)
    assert not passes(limiter)
    ahead = 3600 * SECOND
    assert limiter.give_back(second._replace(token=second.token + ahead))
    assert slot(limiter.book()) == slot(second) + ahead


# --- keys -----------------------------------------------------------------------------------------------------------


def test_b33_no_key_is_ever_without_an_end(client: Redis, name: str) -> None:
    limiter = Limiter(client, name, [Window(2, 1), Window(3, MINUTE)])

    def ends() -> list[int]:
        return [client.pttl(key) for key in keys_of(client, name)]

    for act in (limiter.book, limiter.left, lambda: passes(limiter), lambda: limiter.give_back(limiter.book(2))):
        act()
        assert len(ends()) == 3
        assert all(end > 0 for end in ends())
    set_clock_back(client, name, 10)
    limiter.left()
    assert all(end > 0 for end in ends())


def test_keys_live_as_long_as_what_they_know_matters_the_state_longest(client: Redis, name: str) -> None:
    limiter = Limiter(client, name, [Window(1, MINUTE), Window(5, 1)])
    booking = [limiter.book() for _ in range(3)][-1]
    left_to_live = [client.pttl(key) * 1000 for key in keys_of(client, name)]
    seconds, microseconds = client.time()
    state, second, minute = (seconds * SECOND + microseconds + left for left in left_to_live)
    assert minute >= slot(booking) + MINUTE * SECOND
    assert second >= slot(booking) + SECOND
    assert state >= minute + SECOND - 2000  # Redis counts in milliseconds


def test_a_log_grows_no_further_than_its_window_needs(client: Redis, name: str) -> None:
    limiter = Limiter(client, name, [Window(50, MINUTE)])
    booked = slots(limiter, 400)
    _, log = keys_of(client, name)
    assert {later - slot for slot, later in zip(booked, booked[50:], strict=False)} == {MINUTE * SECOND}
    assert 50 <= client.llen(log) <= 50 + 1 + 100


def test_b39_scripts_touch_only_the_keys_they_declare_and_all_lie_in_one_slot_of_a_cluster(client: Redis) -> None:
    name = f"test {uuid4()} {SECOND}"
    windows = [Window(5, 1), Window(2000, 300)]
    limiter = Limiter(client, name, windows)
    declared = {key.decode() for key in Calls(name, windows).keys}
    with client.monitor() as monitor:
        limiter.give_back(limiter.book())
        limiter.book(max_wait=1)
        limiter.left()
        client.echo("over")
        commands = []
        while "ECHO" not in (command := monitor.next_command()["command"]):
            commands.append(command)
    touched = {part for command in commands for part in declared if f" {part} " in f"{command} "}
    inside = [c for c in commands if c.split()[0] in {"GET", "SET", "LINDEX", "LPUSH", "LTRIM", "PEXPIRE"}]
    assert touched == declared
    assert all(any(f" {key} " in f"{command} " for key in declared) for command in inside)
    assert len({key_slot(key.encode()) for key in declared}) == 1
    client.delete(*declared)

"""What is left in the present second, counted without booking."""

from redis import Redis

from quotas.ratelimit import Calls, Limiter, Window, calls_left
from tests.quotas.ratelimit.states import kept, keys_of, let_pass, slots

MINUTE = 60


def test_what_is_left_is_counted_without_booking(client: Redis, name: str) -> None:
    limiter = Limiter(client, name, [Window(5, 1), Window(7, MINUTE)])
    assert limiter.left() == 5
    assert keys_of(client, name) == []
    slots(limiter, 5)
    before = kept(client, name)
    assert limiter.left() <= 2
    assert kept(client, name) == before
    let_pass(client, name, 2)
    assert limiter.left() == 2
    assert limiter.left(enough=1) == 1
    slots(limiter, 2)
    assert limiter.left() == 0


def test_what_is_left_of_long_windows_ends_with_the_second(client: Redis, name: str) -> None:
    limiter = Limiter(client, name, [Window(3, MINUTE)])
    slots(limiter, 3)
    let_pass(client, name, MINUTE - 10)
    assert limiter.left() == 0
    let_pass(client, name, 9.5)
    assert limiter.left() == 3


def test_another_script_asks_for_a_horizon_of_its_own_and_books_nothing(client: Redis, name: str) -> None:
    windows = [Window(10, 1), Window(25, MINUTE)]
    calls = Calls(name, windows)
    script = calls_left() + "return calls_left(2, 3, tonumber(ARGV[1]), tonumber(ARGV[2]))"

    def ask(horizon: int, enough: int) -> object:
        return client.eval(
            script, 1 + len(calls.keys), f"{name}:own", *calls.keys, horizon, enough, *calls.window_arguments
        )

    assert [ask(horizon, 100) for horizon in (1, 300_000, 2_000_000, 5_000_000)] == [1, 3, 20, 25]
    assert ask(5_000_000, enough=7) == 7
    assert keys_of(client, name) == []
    slots(Limiter(client, name, windows), 20)
    assert ask((MINUTE - 10) * 1_000_000, 100) == 5

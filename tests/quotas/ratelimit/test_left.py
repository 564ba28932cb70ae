"""What is left in the present second, counted without booking."""

from redis import Redis

from quotas.ratelimit import Limiter, Window
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

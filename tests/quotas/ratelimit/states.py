"""What a limiter keeps in Redis, and the passing of time: a test cannot set the server's clock, but it can move all
that was booked into the past, as if time had passed, or into the future, as if the clock had been set back.
"""

from typing import Any

from redis import Redis

from quotas.ratelimit import Booking, Limiter, Refused, Window
from quotas.ratelimit.calls import PREFIX, Calls, booking
from quotas.ratelimit.limiter import SCRIPTS

SECOND = 1_000_000  # microseconds

MOVE = """
local by = tonumber(ARGV[1])
local function moved(state)
  state.now, state.token, state.slot = state.now - by, state.token - by, state.slot - by
  for _, pace in pairs(state.paces) do pace.next = pace.next - by end
  return cmsgpack.pack(state)
end
local text = redis.call('GET', KEYS[1])
local ends, state = cmsgpack.unpack_one(text)
local before = ends < 0 and '' or moved(cmsgpack.unpack(string.sub(text, ends + 1)))
redis.call('SET', KEYS[1], moved(state) .. before, 'KEEPTTL')
for at = 2, #KEYS do
  for index, slot in ipairs(redis.call('LRANGE', KEYS[at], 0, -1)) do
    redis.call('LSET', KEYS[at], index - 1, string.format('%.0f', tonumber(slot) - by))
  end
end
"""


def keys_of(client: Redis, name: str) -> list[bytes]:
    """Return the keys of a limiter, the state's first."""
    return sorted(client.scan_iter(f"{PREFIX}:{{{name}}}*", count=1000), key=len)


def kept(client: Redis, name: str) -> dict[bytes, Any]:
    """Return all that Redis knows of a limiter."""
    return {key: client.dump(key) for key in keys_of(client, name)}


def let_pass(client: Redis, name: str, seconds: float) -> None:
    """Make all that was booked so much older."""
    keys = keys_of(client, name)
    client.eval(MOVE, len(keys), *keys, round(seconds * SECOND))


def set_clock_back(client: Redis, name: str, seconds: float) -> None:
    """Leave what was booked in the future, as a server whose clock is set back does."""
    let_pass(client, name, -seconds)


def slot(booking: Booking) -> int:
    """Return the slot itself, on the limiter's clock: its token is when it was booked."""
    return booking.token + booking.microseconds


def slots(limiter: Limiter, count: int, cost: int = 1) -> list[int]:
    """Book some slots, without waiting for them."""
    return [slot(limiter.book(cost)) for _ in range(count)]


def booked_at_once(client: Redis, name: str, windows: list[Window], count: int) -> list[Booking]:
    """Book some slots in one go, so that hardly any time passes in between."""
    calls = Calls(name, windows)
    with client.pipeline(transaction=True) as pipeline:
        for _ in range(count):
            pipeline.eval(SCRIPTS["book"], len(calls.keys), *calls.keys, *calls.book(1, None))
        return [booking(reply, 1) for reply in pipeline.execute()]


def passes(limiter: Limiter, cost: int = 1) -> bool:
    """Try once, without waiting."""
    try:
        limiter.book(cost, max_wait=0)
    except Refused:
        return False
    return True

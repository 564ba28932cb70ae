"""How many cards the pollers can hold: each says so again and again, by the queues that it reads, on Redis's clock."""

from collections.abc import Iterable
from typing import Any

from redis import Redis

# What a poller said counts for so long; it says it again several times in that.
SAID_SECONDS = 15

_SAY = """
redis.call('HSET', KEYS[1], ARGV[1], ARGV[2] .. ' ' .. redis.call('TIME')[1] + ARGV[3])
redis.call('EXPIRE', KEYS[1], ARGV[3])
"""
_TOTAL = """
local now, total = tonumber(redis.call('TIME')[1]), 0
local said = redis.call('HGETALL', KEYS[1])
for at = 1, #said, 2 do
  local cards, till = string.match(said[at + 1], '(%d+) (%d+)')
  if tonumber(till) > now then
    total = total + cards
  else
    redis.call('HDEL', KEYS[1], said[at])
  end
end
return total
"""


def say(redis: Any, queue: str, poller: str, cards: int) -> Any:
    """Say that a poller which reads the queue can hold so many cards; 0: it reads it no more.

    Args:
        redis: a client, or one for asyncio: then what is returned is awaited.
    """
    return redis.eval(_SAY, 1, _key(queue), poller, cards, SAID_SECONDS)


def of_queues(redis: Redis, queues: Iterable[str]) -> dict[str, int]:
    """Return how many cards the pollers of each queue can hold together."""
    queues = list(queues)
    with redis.pipeline(transaction=False) as pipeline:
        for queue in queues:
            pipeline.eval(_TOTAL, 1, _key(queue))
        return dict(zip(queues, pipeline.execute(), strict=True))


def _key(queue: str) -> str:
    return f"tideline:polling:pollers:{queue}"

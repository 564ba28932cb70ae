"""What Redis keeps of an account, and the passing of time: a test cannot set the server's clock, but it can move all
instants into the past, as if time had passed.
"""

from collections.abc import Mapping, Sequence
from datetime import datetime, timedelta
from decimal import Decimal
from typing import Any

from redis import Redis

from scheduler.polling.queue import Card, Claim, Finish, Queue, Requested, Round, RoundState, Sight, calls, limiter_name
from scheduler.polling.queue.keys import NAMES, key_of, keys_of
from scheduler.polling.queue.packing import MILLISECOND, instant
from scheduler.polling.states import CheckType
from tests.quotas.ratelimit import states as limiter_states

REAL_NAME, USAGE, STATUS, PACKAGE = CheckType
SECOND, MINUTE, HOUR = timedelta(seconds=1), timedelta(minutes=1), timedelta(hours=1)
LEASE = MINUTE

MOVE = """
local by, cards, asked, claims = tonumber(ARGV[1]), '>I6I2I6I2I6I2I6I2', '>I6I6I6I6', '>I8BI6I6I6I6'
local queue, kept, asks, priority, running, claimed, state, cooldowns = unpack(KEYS, 2, 9)
local function earlier(format, first, step, last, text)
  local fields = { struct.unpack(format, text) }
  for at = first, last, step do if fields[at] > 0 then fields[at] = fields[at] - by end end
  return struct.pack(format, unpack(fields, 1, last)) .. string.sub(text, fields[#fields])
end
for _, key in ipairs({ queue, priority, running, cooldowns }) do
  for _, member in ipairs(redis.call('ZRANGE', key, 0, -1)) do redis.call('ZINCRBY', key, -by, member) end
end
local function move(key, format, first, step, last)
  local entries = redis.call('HGETALL', key)
  for at = 1, #entries, 2 do
    redis.call('HSET', key, entries[at], earlier(format, first, step, last, entries[at + 1]))
  end
end
move(kept, cards, 1, 2, 8)
move(asks, asked, 1, 1, 4)
move(claimed, claims, 3, 1, 6)
redis.call('HDEL', state, 'slot')
"""


def server_now(client: Redis) -> datetime:
    """Return the time that the scripts go by."""
    seconds, microseconds = client.time()
    return instant(seconds * 1000 + microseconds // 1000)


def let_pass(client: Redis, account: int, time: timedelta) -> None:
    """Make all that an account has so much older."""
    client.eval(MOVE, len(NAMES), *keys_of(account), time // MILLISECOND)


def begin_second(client: Redis, account: int) -> None:
    """Let the account have another round."""
    client.hdel(key_of(account, "state"), "slot")


def forget(client: Redis, account: int) -> None:
    """Lose all that Redis has of an account, with what was booked for it."""
    client.delete(*keys_of(account), *limiter_states.keys_of(client, limiter_name(account)))


def kept(client: Redis, account: int) -> dict[str, Any]:
    """Return all that Redis has of an account, but for the counters."""
    return {name: client.dump(key_of(account, name)) for name in NAMES if name != "state"}


def put(
    queue: Queue,
    account: int,
    due: Mapping[int, Mapping[CheckType, datetime | None]],
    failures: Mapping[CheckType, int] | None = None,
) -> None:
    """Put cards into the queue and let them be claimed."""
    queue.ask(calls.put(account, [Card(card, each, failures or {}) for card, each in due.items()]))
    queue.ask(calls.complete_rebuild(account, "first", 0))


def put_due(queue: Queue, account: int, cards: Sequence[int], types: Sequence[CheckType] = (USAGE,)) -> None:
    """Put cards whose types have been due for a minute, the first for the longest."""
    now = server_now(queue._redis)
    put(
        queue,
        account,
        {card: dict.fromkeys(types, now - MINUTE + at * MILLISECOND) for at, card in enumerate(cards)},
    )


def claim_round(queue: Queue, account: int, **arguments: Any) -> Round:
    """Claim in this second, which may have had its round."""
    usual = {"most": 50, "inflight_limit": 1000, "lease": LEASE, "priority_share": Decimal("0.5")}
    return queue.ask(calls.claim(account, **{**usual, **arguments}))


def claim(queue: Queue, account: int, **arguments: Any) -> tuple[Claim, ...]:
    """Claim as if another second had begun."""
    begin_second(queue._redis, account)
    round_ = claim_round(queue, account, **arguments)
    assert round_.state is RoundState.CLAIMED
    return round_.claims


def claimed(queue: Queue, account: int, **arguments: Any) -> list[int]:
    """Claim, and return the cards."""
    return [each.card_id for each in claim(queue, account, **arguments)]


def start(queue: Queue, claim: Claim, executor: str = "poller") -> bool:
    """Start the work on a claim."""
    return queue.ask(calls.start(claim.account_id, executor, LEASE, [(claim.card_id, claim.token)]))[0]


def renew(queue: Queue, claim: Claim, executor: str = "poller", lease: timedelta = LEASE) -> bool:
    """Renew the lease of a claim."""
    return queue.ask(calls.renew(claim.account_id, executor, lease, [(claim.card_id, claim.token)]))[0]


def release(queue: Queue, claim: Claim) -> bool:
    """Give a claim back."""
    return queue.ask(calls.release(claim.account_id, [(claim.card_id, claim.token)]))[0]


def finish(
    queue: Queue,
    claim: Claim,
    due: Mapping[CheckType, datetime | None] | None = None,
    failures: Mapping[CheckType, int] | None = None,
) -> bool:
    """End a claim; all of its types are due again in an hour where nothing else is said."""
    if due is None:
        due = dict.fromkeys(claim.types, server_now(queue._redis) + HOUR)
    return queue.ask(calls.finish(claim.account_id, [Finish(claim.card_id, claim.token, due, failures or {})]))[0]


def request(
    queue: Queue, account: int, card: int, types: Sequence[CheckType] = (USAGE,), **arguments: Any
) -> Requested:
    """Ask for checks of a card."""
    return queue.ask(calls.request(account, [card], types, **arguments))[0]


def look(queue: Queue, account: int, card: int) -> Sight:
    """Return what is known of a card that is there."""
    sight = queue.ask(calls.look(account, card))
    assert sight is not None
    return sight


def counter(queue: Queue, account: int, name: str) -> int:
    """Return one of the account's counts."""
    number: int = getattr(queue.ask(calls.count(account)), name)
    return number

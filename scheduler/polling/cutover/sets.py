"""The structure of the simple way in Redis: for each type of check the due cards in a few sorted sets, of all accounts
together.

Whether it is complete, and who builds it, is kept as of the live order of an account 0, which no account has: nothing
is taken or begun unless it is complete. Instants are the server's, in whole milliseconds.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any

from django.conf import settings
from redis import Redis

from scheduler.polling.queue.entries import Card as Entry
from scheduler.polling.queue.entries import Requested
from scheduler.polling.queue.keys import key_of
from scheduler.polling.queue.packing import MILLISECOND, instant, milliseconds
from scheduler.polling.states import CheckType

ORDER = 0
SHARDS = 4
READY, CARDS, RUNNING, COOLDOWNS = (key_of(ORDER, name) for name in ("ready", "members", "at-work", "cooldowns"))
SETS = [(check, shard) for check in CheckType for shard in range(SHARDS)]

_NOW = "local time = redis.call('TIME') local now = time[1] * 1000 + math.floor(time[2] / 1000)\n"

# Of one set: takes what is due, lets it be due again after the lease, and says when that was.
_TAKE = (
    _NOW
    + """
local due = {}
if redis.call('EXISTS', KEYS[1]) == 1 then
  due = redis.call('ZRANGEBYSCORE', KEYS[2], '-inf', now, 'LIMIT', 0, ARGV[1])
end
for _, card in ipairs(due) do redis.call('ZADD', KEYS[2], now + ARGV[2], card) end
return {time[1] * 1000000 + time[2], due}
"""
)

# Begins what was taken. Returns the end of its lease; 0: the taking is over; -1: the card is worked on, and due soon.
_BEGIN = (
    _NOW
    + """
local card, taken_until = ARGV[1], tonumber(ARGV[2])
if redis.call('EXISTS', KEYS[1]) == 0 then return 0 end
if tonumber(redis.call('ZSCORE', KEYS[2], card) or 0) ~= taken_until then return 0 end
if tonumber(redis.call('ZSCORE', KEYS[3], card) or 0) > now then
  redis.call('ZADD', KEYS[2], now + 1000, card)
  return -1
end
redis.call('ZADD', KEYS[3], now + ARGV[3], card)
return now + ARGV[3]
"""
)

# Ends what was begun. Due '': as it is; '-': no more. What was asked for meanwhile stays, and what was taken out too.
_END = """
local card, taken_until, work_until, due = ARGV[1], tonumber(ARGV[2]), tonumber(ARGV[3]), ARGV[4]
if tonumber(redis.call('ZSCORE', KEYS[2], card) or 0) == work_until then redis.call('ZREM', KEYS[2], card) end
local score = tonumber(redis.call('ZSCORE', KEYS[1], card) or 0)
if score == 0 or due == '' then return end
if due == '-' then
  if score == taken_until then redis.call('ZREM', KEYS[1], card) end
elseif score == taken_until or tonumber(due) < score then
  redis.call('ZADD', KEYS[1], due, card)
end
"""

# Asks for checks. KEYS: members, at work, cooldowns, and all sets; the numbers of types are those of the sets.
_REQUEST = (
    _NOW
    + """
local UNKNOWN, COOLING, MERGED, ASKED_FOR, AFTER_THIS_RUN = 0, 1, 2, 3, 4
local at, cooldown, scene, shards, types = now + ARGV[1], tonumber(ARGV[2]), ARGV[3], tonumber(ARGV[4]), ARGV[5]
local function ask(card)
  local is_news = false
  for type in string.gmatch(types, '%d+') do
    local key = KEYS[4 + type * shards + card % shards]
    local score = tonumber(redis.call('ZSCORE', key, card) or 'inf')
    if at < score then
      redis.call('ZADD', key, at, card)
      is_news = true
    end
  end
  if not is_news then return MERGED end
  return tonumber(redis.call('ZSCORE', KEYS[2], card) or 0) > now and AFTER_THIS_RUN or ASKED_FOR
end
redis.call('ZREMRANGEBYSCORE', KEYS[3], '-inf', now)
local outcomes = {}
for at = 6, #ARGV do
  local card = ARGV[at]
  local cooling = card .. ':' .. scene
  if redis.call('SISMEMBER', KEYS[1], card) == 0 then
    outcomes[#outcomes + 1] = UNKNOWN
  elseif cooldown > 0 and redis.call('ZSCORE', KEYS[3], cooling) then
    outcomes[#outcomes + 1] = COOLING
  else
    if cooldown > 0 then redis.call('ZADD', KEYS[3], now + cooldown, cooling) end
    outcomes[#outcomes + 1] = ask(card)
  end
end
return outcomes
"""
)

_AT_WORK = _NOW + "redis.call('ZREMRANGEBYSCORE', KEYS[1], '-inf', now) return redis.call('ZCARD', KEYS[1])"


@dataclass(frozen=True, slots=True)
class Taken:
    """A check that is to be made.

    Attributes:
        token: when it was taken, in microseconds of Redis; a later one wins.
    """

    card_id: int
    type: CheckType
    token: int

    @property
    def until(self) -> int:
        """When it is due again if nobody makes it."""
        return self.token // 1000 + _lease()


# --- which cards there are -------------------------------------------------------------------------------------


def is_ready(redis: Redis) -> bool:
    """Tell whether all cards are there."""
    return bool(redis.exists(READY))


def cards(redis: Redis) -> set[int]:
    """Return the cards that are there, whether anything of them is due by the schedule or not."""
    return {int(card) for card in redis.sscan_iter(CARDS, count=1000)}


def put(redis: Redis, entries: Iterable[Entry], *, or_earlier: bool = False) -> int:
    """Add cards, or change when they are due, and return how many are new. What is not due by schedule is taken out.

    Args:
        or_earlier: what is due already is not put off.
    """
    members = []
    with redis.pipeline(transaction=False) as pipeline:
        for entry in entries:
            members.append(entry.card_id)
            for check in CheckType:
                _place(pipeline, entry.card_id, check, entry.due.get(check), or_earlier)
        if not members:
            return 0
        pipeline.sadd(CARDS, *members)  # last: what is a member has its place
        return int(pipeline.execute()[-1])


def hurry(redis: Redis, asked: Mapping[int, Mapping[CheckType, datetime]]) -> None:
    """Let checks be due at given instants where they are not earlier."""
    with redis.pipeline(transaction=False) as pipeline:
        for card_id, checks in asked.items():
            for check, at in checks.items():
                _place(pipeline, card_id, check, at, or_earlier=True)
        pipeline.execute()


def remove(redis: Redis, card_ids: Sequence[int]) -> int:
    """Take cards out, and return how many there were."""
    with redis.pipeline(transaction=False) as pipeline:
        for card_id in card_ids:
            for check in CheckType:
                pipeline.zrem(key(check, card_id), card_id)
        pipeline.srem(CARDS, *card_ids)
        return int(pipeline.execute()[-1])


def empty(redis: Redis) -> None:
    """Forget which cards there are, and what of them is due. What is worked on remains known, and ends by itself."""
    redis.unlink(READY, CARDS, *(_key(check, shard) for check, shard in SETS))


def due(redis: Redis, card_ids: Sequence[int]) -> dict[int, dict[CheckType, datetime]]:
    """Return when checks of some cards are due."""
    with redis.pipeline(transaction=False) as pipeline:
        for card_id in card_ids:
            for check in CheckType:
                pipeline.zscore(key(check, card_id), card_id)
        scores = iter(pipeline.execute())
    known = {card_id: {check: next(scores) for check in CheckType} for card_id in card_ids}
    return {
        card_id: {check: instant(score) for check, score in checks.items() if score is not None}
        for card_id, checks in known.items()
    }


def request(
    redis: Redis, card_ids: Sequence[int], types: Iterable[CheckType], scene: str, cooldown: timedelta, delay: timedelta
) -> list[Requested]:
    """Let checks be due earlier, and return what became of each card; arguments as `structure.request`."""
    places = {check: place for place, check in enumerate(CheckType)}
    numbers = " ".join(str(places[check]) for check in types)
    arguments: list[int | str] = [delay // MILLISECOND, cooldown // MILLISECOND, scene, SHARDS, numbers, *card_ids]
    keys = CARDS, RUNNING, COOLDOWNS, *(_key(check, shard) for check, shard in SETS)
    return [Requested(outcome) for outcome in _eval(redis, _REQUEST, keys, arguments)]


# --- how they are worked on ------------------------------------------------------------------------------------


def take_due(redis: Redis, most: int) -> list[Taken]:
    """Take what is due; nothing where cards are missing.

    Args:
        most: from each of the sets.
    """
    with redis.pipeline(transaction=False) as pipeline:
        for check, shard in SETS:
            pipeline.eval(_TAKE, 2, READY, _key(check, shard), most, _lease())
        answers = pipeline.execute()
    return [
        Taken(int(card), check, token) for (check, _), (token, due) in zip(SETS, answers, strict=True) for card in due
    ]


def begin(redis: Redis, taken: Taken, lease: timedelta) -> int:
    """Begin what was taken, so that nobody else works on the card, and return until when; 0: not to be begun.

    It is not where cards are missing, as amid a cut-over and after it; where the taking is over, for its message was
    late or doubled; and where the card is worked on: then it is due again in a second.
    """
    keys = READY, key(taken.type, taken.card_id), RUNNING
    return max(int(_eval(redis, _BEGIN, keys, (taken.card_id, taken.until, lease // MILLISECOND))), 0)


def end(redis: Redis, taken: Taken, work_until: int, due: Mapping[CheckType, datetime | None]) -> None:
    """End what was begun, and let it be due as was settled; one that was not made at all is due when its lease ends."""
    then = due.get(taken.type)
    said = "" if taken.type not in due else "-" if then is None else str(milliseconds(then))
    keys = key(taken.type, taken.card_id), RUNNING
    _eval(redis, _END, keys, (taken.card_id, taken.until, work_until, said))


def at_work(redis: Redis) -> int:
    """Return how many cards are worked on."""
    return int(_eval(redis, _AT_WORK, (RUNNING,), ()))


# --- the keys --------------------------------------------------------------------------------------------------


def key(check: CheckType, card_id: int) -> str:
    """Return the key of the set in which a check of a card is."""
    return _key(check, card_id % SHARDS)


def _key(check: CheckType, shard: int) -> str:
    return key_of(ORDER, f"{check}:{shard}")


def _lease() -> int:
    return timedelta(seconds=settings.TIDELINE_POLLING_LEASE_SECONDS) // MILLISECOND


def _place(redis: Redis, card_id: int, check: CheckType, due: datetime | None, or_earlier: bool) -> None:
    if due is not None:
        redis.zadd(key(check, card_id), {str(card_id): milliseconds(due)}, lt=or_earlier)
    elif not or_earlier:
        redis.zrem(key(check, card_id), card_id)


def _eval(redis: Redis, script: str, keys: Sequence[str], arguments: Sequence[int | str]) -> Any:
    return redis.eval(script, len(keys), *keys, *arguments)

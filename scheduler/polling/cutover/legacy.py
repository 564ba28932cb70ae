"""The simple way: for each type of check the due cards in a few sorted sets, and one message a card and check. A slow
account takes the threads of all others.

A check that was taken is due again when its lease ends, so a message that is lost costs that; and what is written is
fenced by when it was taken, which on the same clock is also a token of the other way. So neither overwrites the other.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta

from django.conf import settings
from django.db.models import FilteredRelation, Q
from redis import Redis

from project.kit.clock import database_now
from scheduler.hints import publish, reached_broker
from scheduler.polling import cards, settling, system_settings
from scheduler.polling.cutover.callers import Caller
from scheduler.polling.fleet.live_order import polled_cards
from scheduler.polling.outcomes import Polled
from scheduler.polling.queue.entries import Card as Entry
from scheduler.polling.queue.entries import Claim
from scheduler.polling.queue.keys import PREFIX
from scheduler.polling.queue.packing import MILLISECOND, milliseconds
from scheduler.polling.states import CheckType

CHECK_TASK = "polling.legacy_check"
QUEUE = "polling.legacy"
SHARDS = 4

# Of one set: takes what is due, lets it be due again after the lease, and says when that was.
_TAKE = """
local time = redis.call('TIME')
local now = time[1] * 1000 + math.floor(time[2] / 1000)
local due = redis.call('ZRANGEBYSCORE', KEYS[1], '-inf', now, 'LIMIT', 0, ARGV[1])
for _, card in ipairs(due) do redis.call('ZADD', KEYS[1], now + ARGV[2], card) end
return {time[1] * 1000000 + time[2], due}
"""


@dataclass(frozen=True, slots=True)
class Taken:
    """A check that is to be made.

    Attributes:
        token: when it was taken, in microseconds of Redis; a later one wins.
    """

    card_id: int
    type: CheckType
    token: int


def put(redis: Redis, entries: Iterable[Entry]) -> None:
    """Add cards, or change when they are due; a check that is not due by schedule is taken out."""
    with redis.pipeline(transaction=False) as pipeline:
        for entry in entries:
            for check in CheckType:
                _place(pipeline, entry.card_id, check, entry.due.get(check))
        pipeline.execute()


def take_due(redis: Redis, most: int) -> list[Taken]:
    """Take what is due.

    Args:
        most: from each of the sets.
    """
    lease = timedelta(seconds=settings.TIDELINE_POLLING_LEASE_SECONDS) // MILLISECOND
    sets = [(check, shard) for check in CheckType for shard in range(SHARDS)]
    with redis.pipeline(transaction=False) as pipeline:
        for check, shard in sets:
            pipeline.eval(_TAKE, 1, _key(check, shard), most, lease)
        answers = pipeline.execute()
    return [
        Taken(int(card), check, token) for (check, _), (token, due) in zip(sets, answers, strict=True) for card in due
    ]


def send(taken: Sequence[Taken]) -> None:
    """Send a message for each check.

    Raises:
        KombuError, OSError, redis.RedisError: the broker is away. What was not sent is due again when its lease ends.
    """
    with reached_broker() as producer, producer.batch():
        for each in taken:
            arguments = [each.card_id, each.type, each.token]
            publish(producer, CHECK_TASK, arguments, queue=QUEUE, shown=f"card {each.card_id}, {each.type}")


# --- one message -----------------------------------------------------------------------------------------------


def check(redis: Redis, taken: Taken, caller: Caller) -> None:
    """Ask the carrier, write what it says, and let the check be due anew; what a later message has written stays.

    Args:
        caller: of this thread.
    """
    polled = _to_poll(taken)
    if polled is None:
        _place(redis, taken.card_id, taken.type, None)
        return
    if caller.ask(polled, system_settings.current(), now=database_now()):
        settled = settling.settle([polled], now=database_now())
        _follow(redis, taken, settled.finishes[polled.claim.account_id][0].due)


def _to_poll(taken: Taken) -> Polled | None:
    """Return the card with its check's failures so far; None: it is polled no more."""
    known = FilteredRelation("checks", condition=Q(checks__type=taken.type))
    row = (
        polled_cards()
        .filter(pk=taken.card_id)
        .annotate(known=known)
        .values_list("account_id", "known__failures")
        .first()
    )
    subject = cards.read([taken.card_id]).get(taken.card_id)
    if row is None or subject is None:
        return None
    account_id, failures = row
    claim = Claim(account_id, taken.card_id, taken.token, (taken.type,), {taken.type: failures or 0})
    return Polled(claim, subject)


def _follow(redis: Redis, taken: Taken, due: Mapping[CheckType, datetime | None]) -> None:
    """Let the check be due as was settled; one that was not made at all is due when its lease ends."""
    if taken.type in due:
        _place(redis, taken.card_id, taken.type, due[taken.type])


# --- the sets --------------------------------------------------------------------------------------------------


def _place(redis: Redis, card_id: int, check: CheckType, due: datetime | None) -> None:
    key = _key(check, card_id % SHARDS)
    if due is None:
        redis.zrem(key, card_id)
    else:
        redis.zadd(key, {str(card_id): milliseconds(due)})


def _key(check: CheckType, shard: int) -> str:
    return f"{PREFIX}:legacy:{check}:{shard}"

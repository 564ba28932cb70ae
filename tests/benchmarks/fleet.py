"""A fleet in the queue: cards of many accounts, all of them due."""

from collections.abc import Iterable, Iterator
from datetime import UTC, datetime, timedelta
from decimal import Decimal
from typing import TYPE_CHECKING

from redis import Redis

from tests.benchmarks.measuring import Options

if TYPE_CHECKING:
    from scheduler.polling.queue import Call, Round

CARDS, ACCOUNTS, BATCH = 100_000, 50, 50
LEASE = timedelta(minutes=10)


def size_of(options: Options) -> int:
    """Return how many cards there are: as many for each account."""
    return (options.size or CARDS) // ACCOUNTS * ACCOUNTS


def batches(cards: int) -> Iterator[tuple[int, list[int]]]:
    """Yield account and cards of each batch, in such an order that all accounts have their turn."""
    per_account = cards // ACCOUNTS
    for first in range(0, per_account, BATCH):
        for account in range(ACCOUNTS):
            start = account * per_account + first
            yield account, list(range(start, min(start + BATCH, (account + 1) * per_account)))


def fill(redis: Redis, cards: int) -> None:
    """Put the fleet into the queue: two types of each card have been due for some time, two are not."""
    from scheduler.polling.queue import Card, Queue, calls
    from scheduler.polling.states import CheckType

    now = datetime.now(UTC)
    later = now + timedelta(hours=1)
    queue = Queue(redis)
    for account, ids in batches(cards):
        since = [now - timedelta(milliseconds=card % 7919) for card in ids]
        due = [
            {
                CheckType.USAGE: at,
                CheckType.CARD_STATUS: at,
                CheckType.REAL_NAME: later,
                CheckType.PACKAGE: later,
            }
            for at in since
        ]
        queue.ask(calls.put(account, [Card(card, each, {}) for card, each in zip(ids, due, strict=True)]))
    for account in range(ACCOUNTS):
        queue.ask(calls.complete_rebuild(account, "benchmark", 0))


def begin_second(redis: Redis) -> None:
    """Let each account have a round, as if the next second had begun."""
    from scheduler.polling.queue.keys import key_of

    with redis.pipeline(transaction=False) as pipeline:
        for account in range(ACCOUNTS):
            pipeline.hdel(key_of(account, "state"), "slot")
        pipeline.execute()


def round_of_claims(most: int = BATCH) -> list["Call[Round]"]:
    """Return the calls that claim a batch of each account, of so many cards at most."""
    from scheduler.polling.queue import calls

    return [
        calls.claim(account, most=most, inflight_limit=CARDS, lease=LEASE, priority_share=Decimal("0.5"))
        for account in range(ACCOUNTS)
    ]


def finishes(rounds: Iterable["Round"], again: timedelta = timedelta(hours=1)) -> list["Call[list[bool]]"]:
    """Return the calls that finish what was claimed: both types are due again after so long."""
    from scheduler.polling.queue import Finish, calls
    from scheduler.polling.states import CheckType

    due = dict.fromkeys((CheckType.USAGE, CheckType.CARD_STATUS), datetime.now(UTC) + again)
    failures = dict.fromkeys(due, 0)
    return [
        calls.finish(claims[0].account_id, [Finish(each.card_id, each.token, due, failures) for each in claims])
        for claims in (each.claims for each in rounds)
        if claims
    ]

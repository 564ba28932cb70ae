"""Finishing a whole fleet that is claimed, in batches of 50 over 50 accounts, beside the bare commands."""

import time
from functools import partial

from tests.benchmarks import fleet, servers
from tests.benchmarks.measuring import OURS, Measurement, Options, rate, take_turns

BARE = "HSET + ZADD + DEL + ZREM in a pipeline"
WANTED = {BARE: 1 / 3}
KEPT = b"0" * 32  # as much as we keep of a card


def measure(options: Options) -> list[Measurement]:
    """Compare."""
    cards = fleet.size_of(options)
    medians = take_turns({OURS: partial(_finish, cards), BARE: partial(_write, cards)}, options.rounds)
    return [rate("finishes", "cards/s", medians, WANTED)]


def _finish(cards: int) -> float:
    from scheduler.polling.queue import Queue

    redis = servers.broker()
    redis.flushall()
    fleet.fill(redis, cards)
    queue, seconds, finished = Queue(redis), 0.0, 0
    while finished < cards:
        fleet.begin_second(redis)
        rounds = queue.perform(fleet.round_of_claims())
        started = time.perf_counter()
        accepted = queue.perform(fleet.finishes(rounds))
        seconds += time.perf_counter() - started
        finished += sum(map(sum, accepted))
    return cards / seconds


def _write(cards: int) -> float:
    """Do for each card what a finish comes to, without asking whose it is."""
    redis = servers.broker()
    redis.flushall()
    with redis.pipeline(transaction=False) as pipeline:
        for account, ids in fleet.batches(cards):
            pipeline.zadd(f"due:{account}", dict.fromkeys(ids, 1))
            pipeline.zadd(f"running:{account}", dict.fromkeys(ids, 1))
            pipeline.hset(f"cards:{account}", mapping=dict.fromkeys(ids, KEPT))
            pipeline.mset({f"claim:{card}": card for card in ids})
        pipeline.execute()
    seconds = 0.0
    batches = list(fleet.batches(cards))
    for first in range(0, len(batches), fleet.ACCOUNTS):
        started = time.perf_counter()
        with redis.pipeline(transaction=False) as pipeline:
            for account, ids in batches[first : first + fleet.ACCOUNTS]:
                for card in ids:
                    pipeline.hset(f"cards:{account}", card, KEPT)
                    pipeline.zadd(f"due:{account}", {card: 2})
                    pipeline.delete(f"claim:{card}")
                    pipeline.zrem(f"running:{account}", card)
            pipeline.execute()
        seconds += time.perf_counter() - started
    return cards / seconds

"""Claiming a whole fleet, in batches of 50 over 50 accounts, beside the least that a queue can do."""

import time
from functools import partial

from redis import Redis

from tests.benchmarks import fleet, servers
from tests.benchmarks.measuring import OURS, Measurement, Options, at_most, rate, take_turns

POPPING = "ZPOPMIN in a pipeline"
WANTED = {POPPING: 1 / 3}
WANTED_RATE = 40_000
LIMIT_BYTES = 350


def measure(options: Options) -> list[Measurement]:
    """Compare, and say what a card takes in Redis."""
    cards = fleet.size_of(options)
    medians = take_turns({OURS: partial(_claim, cards), POPPING: partial(_pop, cards)}, options.rounds)
    return [rate("claims", "cards/s", medians, WANTED, WANTED_RATE), _bytes_of_a_card(cards)]


def _claim(cards: int) -> float:
    from scheduler.polling.queue import Queue

    redis = servers.broker()
    redis.flushall()
    fleet.fill(redis, cards)
    queue, seconds, claimed = Queue(redis), 0.0, 0
    while claimed < cards:
        fleet.begin_second(redis)
        started = time.perf_counter()
        rounds = queue.perform(fleet.round_of_claims())
        seconds += time.perf_counter() - started
        claimed += sum(len(each.claims) for each in rounds)  # type: ignore[union-attr]
    return cards / seconds


def _pop(cards: int) -> float:
    redis = servers.broker()
    redis.flushall()
    for account, ids in fleet.batches(cards):
        redis.zadd(f"due:{account}", {card: card % 7919 for card in ids})
    started, popped = time.perf_counter(), 0
    while popped < cards:
        with redis.pipeline(transaction=False) as pipeline:
            for account in range(fleet.ACCOUNTS):
                pipeline.zpopmin(f"due:{account}", fleet.BATCH)
            popped += sum(map(len, pipeline.execute()))
    return cards / (time.perf_counter() - started)


def _bytes_of_a_card(cards: int) -> Measurement:
    redis = servers.broker()
    redis.flushall()
    before = _used(redis)
    fleet.fill(redis, cards)
    return at_most("bytes of a card in Redis", "bytes", (_used(redis) - before) / cards, LIMIT_BYTES)


def _used(redis: Redis) -> int:
    used: int = redis.info("memory")["used_memory"]
    return used

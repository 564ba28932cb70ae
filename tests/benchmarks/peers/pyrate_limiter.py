"""PyrateLimiter's blocking limiter on its Redis bucket. Its usual 50 ms on top of each wait are switched off."""

import redis
from pyrate_limiter import Duration, Limiter, Rate
from pyrate_limiter.buckets import RedisBucket

from tests.benchmarks.peers.waiting import Task, Wait, main


def prepare(task: Task) -> Wait:
    """Return its wait."""
    bucket = RedisBucket.init([Rate(task.rate, Duration.SECOND)], redis.Redis.from_url(task.url), task.name)
    limiter = Limiter(bucket, buffer_ms=0)
    return lambda: limiter.try_acquire(task.name)


if __name__ == "__main__":
    main(prepare)

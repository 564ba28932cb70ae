"""The moving window of `limits` on Redis, asked again when its oldest call leaves the window."""

import time

from limits import RateLimitItemPerSecond
from limits.storage import storage_from_string
from limits.strategies import MovingWindowRateLimiter

from tests.benchmarks.peers.waiting import Task, Wait, main


def prepare(task: Task) -> Wait:
    """Return a loop of tries."""
    limiter = MovingWindowRateLimiter(storage_from_string(task.url))
    item = RateLimitItemPerSecond(task.rate)

    def wait() -> None:
        while not limiter.hit(item, task.name):
            time.sleep(max(0.0, limiter.get_window_stats(item, task.name).reset_time - time.time()))

    return wait


if __name__ == "__main__":
    main(prepare)

"""A process that shares a limiter: `python -m tests.quotas.ratelimit.bookers URL NAME LIMIT SECONDS TRIES`.

It prints the slots that it booked, without waiting for them.
"""

import sys

from redis import Redis

from quotas.ratelimit import Limiter, Refused, Window
from tests.quotas.ratelimit.states import slot


def main(url: str, name: str, limit: int, seconds: float, tries: int) -> None:
    """Try so often to get a slot that is no further away than half the window."""
    limiter = Limiter(Redis.from_url(url), name, [Window(limit, seconds)])
    for _ in range(tries):
        try:
            print(slot(limiter.book(max_wait=seconds / 2)))
        except Refused:
            print("refused")


if __name__ == "__main__":
    main(sys.argv[1], sys.argv[2], int(sys.argv[3]), float(sys.argv[4]), int(sys.argv[5]))

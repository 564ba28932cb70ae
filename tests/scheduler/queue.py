"""The queue of hints in a real Redis, as a worker would find it."""

import json
from base64 import b64decode

import redis

from scheduler import launching


class Queue:
    """The queue of hints in a Redis, as a worker would find it."""

    def __init__(self, url: str) -> None:
        self.redis = redis.Redis.from_url(url)

    def empty(self) -> None:
        """Forget all hints, and that there ever were some; REDIS_URL may name a Redis that holds more."""
        self.redis.delete("tideline:runs", f"tideline:{launching.NOT_EMPTIED}")

    def take(self) -> list[tuple[int, int]]:
        """Take the oldest hint out, as a worker does."""
        return _claims_in(self.redis.rpop("tideline:runs"))

    @property
    def hints(self) -> list[list[tuple[int, int]]]:
        """The hints that wait, the first to be taken first."""
        messages = self.redis.lrange("tideline:runs", 0, -1)
        assert isinstance(messages, list)
        return [_claims_in(message) for message in reversed(messages)]

    @property
    def run_ids(self) -> list[int]:
        """The runs of all hints that wait, the first to be taken first."""
        return [run_id for hint in self.hints for run_id, _ in hint]


def _claims_in(message: object) -> list[tuple[int, int]]:
    assert isinstance(message, bytes)
    (args, _, _) = json.loads(b64decode(json.loads(message)["body"]))
    return [(run_id, token) for run_id, token in args[0]]

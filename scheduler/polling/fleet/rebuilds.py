"""Who rebuilds an account's live order just now, and how far it is; in Redis, beside what is rebuilt.

All of it is lost with the order itself, and nothing depends on it but that two do not work at the same time.
"""

from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass
from datetime import datetime

from redis import Redis
from redis.exceptions import LockError, LockNotOwnedError, WatchError
from redis.lock import Lock

from scheduler.polling.queue import Call
from scheduler.polling.queue.keys import key_of
from scheduler.polling.queue.queue import SCRIPTS

# Between two signs of life lies a page, which takes milliseconds: who is silent for so long is dead, or is too late.
SILENT_SECONDS = 15
# So long a request is not repeated: its message may wait, and if it is lost, the next request sends another.
ASKED_SECONDS = 30
# So long it is told how the last one went.
KEPT_SECONDS = 7 * 86_400


class Overtaken(Exception):
    """The order was lost meanwhile, or another began to rebuild it: what this one knows counts no more."""


@dataclass(frozen=True, slots=True)
class Progress:
    """How far the latest rebuild of an account is.

    Attributes:
        by: who wanted it.
        done, total: cards.
        ended_at: None: it is under way, or was interrupted.
        under_way: whether somebody is at it now.
    """

    account_id: int
    by: str
    began_at: datetime
    done: int
    total: int
    ended_at: datetime | None
    under_way: bool


class Rebuild:
    """The right to rebuild one account, for as long as signs of life are given."""

    def __init__(self, redis: Redis, account_id: int) -> None:
        self._redis, self._account_id = redis, account_id
        self._lock = Lock(redis, _lock_key(account_id), timeout=SILENT_SECONDS, blocking=False, thread_local=False)

    def taken(self) -> bool:
        """Take the right; False: another has it."""
        return bool(self._lock.acquire())

    def begin(self, by: str, total: int, now: datetime) -> None:
        """Tell that it begins."""
        self._redis.delete(_progress_key(self._account_id))
        self._tell(by=by, began_at=now.isoformat(), done=0, total=total)

    def keep(self) -> None:
        """Keep the right.

        Raises:
            Overtaken: the right is another's, or lost.
        """
        try:
            self._lock.extend(SILENT_SECONDS, replace_ttl=True)
        except LockError:
            raise Overtaken from None

    def go_on(self, done: int) -> None:
        """Tell how many cards are done, and keep the right.

        Raises:
            Overtaken: the right is another's, or lost.
        """
        self.keep()
        self._tell(done=done)

    def conclude(self, call: Call[None]) -> None:
        """Perform a call if the right is still held, in one transaction; otherwise not.

        Raises:
            Overtaken: the right is another's, or lost.
        """
        with self._redis.pipeline() as pipeline:
            pipeline.watch(_lock_key(self._account_id))  # type: ignore[no-untyped-call]
            if not self._lock.owned():
                raise Overtaken
            pipeline.multi()
            pipeline.eval(SCRIPTS[call.script], len(call.keys), *call.keys, *call.arguments)
            try:
                pipeline.execute()
            except WatchError:
                raise Overtaken from None

    def end(self, done: int, now: datetime) -> None:
        """Tell that all is done."""
        self._tell(done=done, total=done, ended_at=now.isoformat())

    def let_go(self) -> None:
        """Give the right back, if it is still held; a later request is heeded at once."""
        self._redis.delete(_asked_key(self._account_id))
        with suppress(LockNotOwnedError):
            self._lock.release()

    def _tell(self, **said: str | int) -> None:
        key = _progress_key(self._account_id)
        with self._redis.pipeline() as pipeline:
            pipeline.hset(key, items=[part for pair in said.items() for part in pair])
            pipeline.expire(key, KEPT_SECONDS)
            pipeline.execute()


def asked_first(redis: Redis, account_ids: Sequence[int]) -> list[int]:
    """Return those of the accounts for which nobody has asked a short while ago, and take note that somebody has."""
    with redis.pipeline(transaction=False) as pipeline:
        for account_id in account_ids:
            pipeline.set(_asked_key(account_id), 1, nx=True, ex=ASKED_SECONDS)
        return [account_id for account_id, first in zip(account_ids, pipeline.execute(), strict=True) if first]


def forbid(redis: Redis, account_ids: Sequence[int]) -> None:
    """Let nothing be claimed of the accounts, and take the right of whoever rebuilds one: it cannot let claiming begin.

    What is in order stays there.
    """
    redis.delete(*(key_of(account_id, "ready") for account_id in account_ids), *map(_lock_key, account_ids))


def progress(redis: Redis, account_ids: Sequence[int]) -> dict[int, Progress]:
    """Return how far the latest rebuilds are, by account; those that had none lately are left out."""
    with redis.pipeline(transaction=False) as pipeline:
        for account_id in account_ids:
            pipeline.hgetall(_progress_key(account_id))
            pipeline.exists(_lock_key(account_id))
        told = pipeline.execute()
    words = [{_text(name): _text(value) for name, value in said.items()} for said in told[::2]]
    return {
        account_id: _progress(account_id, said, bool(held))
        for account_id, said, held in zip(account_ids, words, told[1::2], strict=True)
        if "began_at" in said  # what is told after a flush has no beginning
    }


def _progress(account_id: int, said: dict[str, str], held: bool) -> Progress:
    ended_at = said.get("ended_at")
    return Progress(
        account_id=account_id,
        by=said["by"],
        began_at=datetime.fromisoformat(said["began_at"]),
        done=int(said["done"]),
        total=int(said["total"]),
        ended_at=datetime.fromisoformat(ended_at) if ended_at else None,
        under_way=held,
    )


def _text(value: bytes | str) -> str:
    return value if isinstance(value, str) else value.decode()


def _lock_key(account_id: int) -> str:
    return key_of(account_id, "rebuilding")


def _asked_key(account_id: int) -> str:
    return key_of(account_id, "rebuild-asked")


def _progress_key(account_id: int) -> str:
    return key_of(account_id, "progress")

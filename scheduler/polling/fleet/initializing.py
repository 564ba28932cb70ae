"""The live order of an account is built from its rows: at the start, when Redis came back empty, as a person wants.

Nothing is claimed of the account until all of its cards are in. A rebuild that dies is begun again, by whoever asks
next; one that is overtaken stops, and what it has put is what the rows said.
"""

import logging
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from enum import StrEnum
from zlib import crc32

from django.db.models import Max
from redis import Redis

from project.kit.clock import elapsed
from scheduler.polling import recalling, tiers
from scheduler.polling.cutover import standing
from scheduler.polling.fleet import live_order, rebuilds
from scheduler.polling.fleet.rebuilds import Overtaken, Rebuild
from scheduler.polling.models import CardCheck, CarrierAccount, PollingTier
from scheduler.polling.queue import Queue, calls
from scheduler.polling.system_settings import Mode

logger = logging.getLogger(__name__)

progress = rebuilds.progress


class Outcome(StrEnum):
    """What became of a rebuild."""

    REBUILT = "rebuilt"
    NOT_NEEDED = "in order already"
    SWITCHED_OFF = "switched off"
    UNDER_WAY = "another is at it"
    OVERTAKEN = "overtaken"
    NOT_IN_USE = "the simple way decides"


@dataclass(frozen=True, slots=True)
class Rebuilt:
    """What became of a rebuild, and of how many cards."""

    account_id: int
    outcome: Outcome
    cards: int = 0


def request_rebuilds(redis: Redis, account_ids: Sequence[int]) -> list[int]:
    """Return for which of the accounts the caller is to send a message that leads to `rebuild_if_lost`.

    Of all who notice at the same time that an order is lost, one is told so; if its message is lost, the next who
    notices is, half a minute later.
    """
    return rebuilds.asked_first(redis, account_ids) if account_ids else []


def rebuild_if_lost(redis: Redis, account_id: int, *, by: str, now: datetime) -> Rebuilt:
    """Rebuild an account whose order is lost; if it is there, for a message may be doubled or late, do nothing."""
    return rebuild(redis, account_id, by=by, now=now, only_if_lost=True)


def rebuild(
    redis: Redis,
    account_id: int,
    *,
    by: str,
    now: datetime,
    only_if_lost: bool = False,
    tell: Callable[[int, int], None] = lambda done, total: None,
) -> Rebuilt:
    """Put all cards of an account in order, as its rows say. Where nothing is known of a card, it is spread.

    Args:
        by: who wants it, for `progress`.
        only_if_lost: do nothing where the order is there.
        tell: is told after each page how many cards are done, of how many.

    Raises:
        redis.RedisError, DatabaseError: it can be begun again at any time.
    """
    right = Rebuild(redis, account_id)
    if not right.taken():
        return Rebuilt(account_id, Outcome.UNDER_WAY)
    try:
        return _rebuild(_Work(Queue(redis), right, account_id, by, now, tell, mark_of_tiers()), only_if_lost)
    except Overtaken:
        logger.warning("the rebuild of account %s was overtaken", account_id)
        return Rebuilt(account_id, Outcome.OVERTAKEN)
    finally:
        right.let_go()


def is_of_present_tiers(epoch: str) -> bool:
    """Tell whether an order was built since the tiers were changed last."""
    return epoch.endswith(f" {mark_of_tiers()}")


def mark_of_tiers() -> str:
    """Return, for the name of an order, a number that is another one after each change of the tiers."""
    versions = PollingTier.objects.order_by("position").values_list("pk", "version")
    return f"{crc32(repr(list(versions)).encode()):08x}"


@dataclass(frozen=True, slots=True)
class _Work:
    queue: Queue
    right: Rebuild
    account_id: int
    by: str
    now: datetime
    tell: Callable[[int, int], None]
    mark: str


def _rebuild(work: _Work, only_if_lost: bool) -> Rebuilt:
    if not standing.now_holds().may_be_built(Mode.CARRIER):  # asked under the right, which a cut-over takes away
        return Rebuilt(work.account_id, Outcome.NOT_IN_USE)
    if only_if_lost and work.queue.ask(calls.count(work.account_id)).epoch:
        return Rebuilt(work.account_id, Outcome.NOT_NEEDED)
    work.queue.ask(calls.begin_rebuild(work.account_id))
    tiers.current.forget()  # those of the mark, or later ones
    if not CarrierAccount.objects.filter(pk=work.account_id, active=True).exists():
        return Rebuilt(work.account_id, Outcome.SWITCHED_OFF)
    began = elapsed()
    done = _put_all(work)
    recalling.ask_again([work.account_id], now=work.now)
    _open(work)
    work.right.end(done, work.now + timedelta(seconds=elapsed() - began))
    return Rebuilt(work.account_id, Outcome.REBUILT, done)


def _put_all(work: _Work) -> int:
    cards = live_order.polled_cards().filter(account=work.account_id)
    total, done = cards.count(), 0
    work.right.begin(work.by, total, work.now)
    for page in live_order.pages(cards, live_order.as_before(work.now)):
        work.right.keep()
        work.queue.ask(calls.put(work.account_id, page))
        done += len(page)
        work.right.go_on(done)
        work.tell(done, max(done, total))
    return done


def _open(work: _Work) -> None:
    """Let claiming begin, unless the order was lost while it was built: then what is there is only a part of it."""
    checks = CardCheck.objects.filter(card__account=work.account_id)
    highest = checks.aggregate(highest=Max("token", default=0))["highest"]
    work.right.conclude(calls.complete_rebuild(work.account_id, f"{work.now.isoformat()} {work.mark}", highest))

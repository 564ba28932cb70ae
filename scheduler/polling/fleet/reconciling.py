"""What was lost between the rows and the live order is found by comparing them: a polled card that is in no order, one
that is in an order where it does not belong, an order from before the tiers were changed.

Rows decide. A difference that is only work under way is mended twice, which does no harm.
"""

from dataclasses import dataclass
from datetime import datetime, timedelta

from redis import Redis

from project.kit.clock import elapsed
from scheduler.polling.fleet import following, initializing, live_order
from scheduler.polling.fleet.initializing import Outcome
from scheduler.polling.models import CarrierAccount
from scheduler.polling.queue import Queue, calls
from scheduler.polling.queue.keys import PREFIX

# Whoever scans has other scans to do.
WITHIN = timedelta(seconds=5)
# Which account was compared last.
LAST_KEY = f"{PREFIX}:reconciled"


@dataclass(frozen=True, slots=True)
class Mended:
    """What was wrong with the order of an account, and is no more.

    Attributes:
        added: cards that were missing.
        removed: cards that did not belong there.
        rebuilt: it was from before the tiers were changed.
    """

    account_id: int
    added: int = 0
    removed: int = 0
    rebuilt: bool = False

    def __bool__(self) -> bool:
        return bool(self.added or self.removed or self.rebuilt)

    def __str__(self) -> str:
        if self.rebuilt:
            return f"account {self.account_id}: built anew, for the tiers have changed"
        return f"account {self.account_id}: {self.added:,} cards put in, {self.removed:,} taken out"


def reconcile_all(redis: Redis, *, now: datetime, within: timedelta = WITHIN) -> list[Mended]:
    """Compare the accounts, as many as can be begun within that time, and return what was mended.

    The next time it goes on behind the last of them: also where that one could not be compared.

    Raises:
        redis.RedisError: it is away; a part may be mended.
    """
    until, mended = elapsed() + within.total_seconds(), []
    for account_id in _in_turn(redis):
        redis.set(LAST_KEY, account_id)
        mended.append(reconcile(redis, account_id, now=now))
        if elapsed() >= until:
            break
    return list(filter(None, mended))


def _in_turn(redis: Redis) -> list[int]:
    """Return all accounts, from the one behind the last that was compared."""
    last = int(redis.get(LAST_KEY) or 0)
    account_ids = CarrierAccount.objects.values_list("pk", flat=True)
    return sorted(account_ids, key=lambda account_id: (account_id <= last, account_id))


def reconcile(redis: Redis, account_id: int, *, now: datetime) -> Mended:
    """Compare the order of an account with its rows, mend it, and return what was mended.

    An order that is lost, or being built, is left alone: whoever claims from it asks for a rebuild.

    Raises:
        redis.RedisError: it is away; a part may be mended.
    """
    queue = Queue(redis)
    counts = queue.ask(calls.count(account_id))
    if not counts.epoch:
        return Mended(account_id)
    if not CarrierAccount.objects.filter(pk=account_id, active=True).exists():
        queue.ask(calls.begin_rebuild(account_id))
        return Mended(account_id, removed=counts.cards)
    if not initializing.is_of_present_tiers(counts.epoch):
        rebuilt = initializing.rebuild(redis, account_id, by="changed tiers", now=now)
        return Mended(account_id, rebuilt=rebuilt.outcome == Outcome.REBUILT)
    return _mend(redis, account_id, now)


def _mend(redis: Redis, account_id: int, now: datetime) -> Mended:
    """Compare: the order first, so that a card which comes meanwhile is put once more, and none is taken out."""
    there = set(Queue(redis).cards(account_id))
    polled = set(live_order.polled_cards().filter(account=account_id).values_list("pk", flat=True))
    added = following.put_in(redis, account_id, sorted(polled - there), live_order.as_before(now))
    removed = following.take_out(redis, account_id, sorted(there - polled))
    return Mended(account_id, added, removed)

"""What a cut-over does with the sets of the simple way. Each step may be repeated, and begun by two at once."""

import logging
from datetime import datetime, timedelta

from redis import Redis

from project.kit.parts import parts_of
from scheduler.polling import recalling
from scheduler.polling.cutover import sets, standing
from scheduler.polling.fleet import initializing, live_order, rebuilds
from scheduler.polling.fleet.rebuilds import Overtaken, Rebuild
from scheduler.polling.models import CarrierAccount
from scheduler.polling.queue import MOST_CARDS, Queue, calls
from scheduler.polling.system_settings import Mode

logger = logging.getLogger(__name__)

BY = "the simple way"


def close(redis: Redis) -> None:
    """Let nothing be taken or begun, nor opened by whoever builds the sets just now."""
    rebuilds.forbid(redis, [sets.ORDER])


def at_work(redis: Redis) -> int:
    """Return how many cards are worked on."""
    return sets.at_work(redis)


def build(redis: Redis, *, now: datetime, within: timedelta) -> int:
    """Put all cards into the sets if they are not complete; return 0 if they are then, else 1.

    It is done in one go, however long it takes: `within` is not heeded.
    """
    build_if_lost(redis, now=now)
    return 0 if sets.is_ready(redis) else 1


def build_if_lost(redis: Redis, *, now: datetime) -> None:
    """Put all cards into the sets if they are not complete, and nobody else is at it."""
    right = Rebuild(redis, sets.ORDER)
    if not right.taken():
        return
    try:
        _build(redis, right, now)
    except Overtaken:
        logger.warning("the building of the sets was overtaken")
    finally:
        right.let_go()


def is_complete(redis: Redis) -> bool:
    """Tell whether the sets are complete."""
    return sets.is_ready(redis)


def reconcile(redis: Redis, *, now: datetime) -> int:
    """Compare the sets with the rows where they are complete, build them anew if the tiers have changed, and return how
    many cards were wrong.
    """
    epoch = Queue(redis).ask(calls.count(sets.ORDER)).epoch
    if not epoch:
        return 0  # whoever takes from them asks for that
    if not initializing.is_of_present_tiers(epoch):
        close(redis)
        build_if_lost(redis, now=now)
        return 0
    return mend(redis, now=now)


def mend(redis: Redis, *, now: datetime) -> int:
    """Compare the sets with the rows, the sets first, and return how many cards were wrong."""
    there, polled = sets.cards(redis), _polled()
    for some in parts_of(sorted(polled - there), MOST_CARDS):
        sets.put(redis, live_order.entries(live_order.polled_cards().filter(pk__in=some), live_order.as_before(now)))
    for some in parts_of(sorted(there - polled), MOST_CARDS):
        sets.remove(redis, some)
    return len(polled ^ there)


def empty(redis: Redis) -> None:
    """Take everything out of the sets."""
    sets.empty(redis)


def astray(redis: Redis) -> int:
    """Return how many cards too many or too few there are in the sets."""
    return len(_polled() ^ sets.cards(redis))


def held(redis: Redis) -> int:
    """Return how many cards there are in the sets."""
    return len(sets.cards(redis))


def _build(redis: Redis, right: Rebuild, now: datetime) -> None:
    if sets.is_ready(redis) or not standing.now_holds().may_be_built(Mode.LEGACY):
        return
    mark, cards, done = initializing.mark_of_tiers(), live_order.polled_cards(), 0
    right.begin(BY, cards.count(), now)
    sets.empty(redis)
    for page in live_order.pages(cards, live_order.as_before(now)):
        sets.put(redis, page, or_earlier=True)
        done += len(page)
        right.go_on(done)
    _take_over(redis)
    recalling.ask_again(CarrierAccount.objects.values_list("pk", flat=True), now=now)
    right.conclude(calls.complete_rebuild(sets.ORDER, f"{now.isoformat()} {mark}", 0))
    right.end(done, now)


def _take_over(redis: Redis) -> None:
    """Let what the live orders were asked for beside the schedule be due here when it was asked for."""
    for account_id in CarrierAccount.objects.filter(active=True).values_list("pk", flat=True):
        sets.hurry(redis, dict(Queue(redis).asked(account_id)))


def _polled() -> set[int]:
    return set(live_order.polled_cards().values_list("pk", flat=True))

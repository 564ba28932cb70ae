"""What a cut-over does with the live orders of all accounts. Each step may be repeated, and begun by two at once."""

from collections.abc import Sequence
from datetime import datetime, timedelta

from django.db.models import Count
from redis import Redis
from redis.exceptions import ResponseError

from project.kit.clock import elapsed
from project.kit.parts import parts_of
from scheduler.polling.cutover import sets
from scheduler.polling.fleet import initializing, live_order, rebuilds, reconciling
from scheduler.polling.models import CardCheck, CarrierAccount
from scheduler.polling.queue import MOST_CARDS, Call, Queue, calls
from scheduler.polling.queue.calls import Answer
from scheduler.polling.queue.keys import key_of
from scheduler.polling.queue.packing import milliseconds

# Claims stay: whoever stops or resumes a card has one.
HOLDINGS = ("queue", "cards", "asked", "priority")
BY = "the cut-over"


def close(redis: Redis) -> None:
    """Let nothing be claimed, nor opened by whoever builds an order just now."""
    if account_ids := _accounts():
        rebuilds.forbid(redis, account_ids)


def at_work(redis: Redis) -> int:
    """Return how many cards are worked on; those that nobody works on any longer are given back."""
    return sum(_performed(redis, [calls.drain(account_id) for account_id in _accounts()]))


def build(redis: Redis, *, now: datetime, within: timedelta) -> int:
    """Build the orders that are not there, as many as can be begun in that time; return how many remain."""
    until = elapsed() + within.total_seconds()
    for account_id in _missing(redis):
        initializing.rebuild_if_lost(redis, account_id, by=BY, now=now)
        _take_over(redis, account_id, now)
        if elapsed() >= until:
            break
    return len(_missing(redis))


def is_complete(redis: Redis) -> bool:
    """Tell whether every order is there."""
    return not _missing(redis)


def mend(redis: Redis, *, now: datetime) -> int:
    """Compare every order with its rows, and return how many cards were wrong."""
    mended = [reconciling.reconcile(redis, account_id, now=now) for account_id in _accounts()]
    return sum(one.added + one.removed for one in mended)


def empty(redis: Redis) -> None:
    """Forget every order. Tokens go on where they were, and cooldowns hold."""
    for account_id in _accounts():
        redis.unlink(*(key_of(account_id, name) for name in HOLDINGS))


def astray(redis: Redis) -> int:
    """Return how many cards too many or too few there are in the orders."""
    polled = dict(live_order.polled_cards().values_list("account").annotate(cards=Count("pk")).order_by())
    there = _cards(redis)
    return sum(abs(polled.get(account_id, 0) - count) for account_id, count in there.items())


def held(redis: Redis) -> int:
    """Return how many cards there are in the orders."""
    return sum(_cards(redis).values())


def _take_over(redis: Redis, account_id: int, now: datetime) -> None:
    """Let what the simple way was asked for beside the schedule be asked for here."""
    card_ids = list(live_order.polled_cards().filter(account=account_id).order_by("pk").values_list("pk", flat=True))
    for some in parts_of(card_ids, MOST_CARDS):
        known = _by_schedule(some)
        sooner = [
            calls.request(account_id, [card_id], [check], delay=max(at - now, timedelta(0)))
            for card_id, checks in sets.due(redis, some).items()
            for check, at in checks.items()
            if milliseconds(at) < milliseconds(known.get((card_id, check)) or now)
        ]
        Queue(redis).perform(sooner)


def _by_schedule(card_ids: Sequence[int]) -> dict[tuple[int, str], datetime | None]:
    rows = CardCheck.objects.filter(card_id__in=card_ids).values_list("card_id", "type", "due_at")
    return {(card_id, check): due_at for card_id, check, due_at in rows}


def _missing(redis: Redis) -> list[int]:
    active = list(CarrierAccount.objects.filter(active=True).order_by("pk").values_list("pk", flat=True))
    counts = _performed(redis, [calls.count(account_id) for account_id in active])
    return [account_id for account_id, count in zip(active, counts, strict=True) if not count.epoch]


def _cards(redis: Redis) -> dict[int, int]:
    account_ids = _accounts()
    counts = _performed(redis, [calls.count(account_id) for account_id in account_ids])
    return {account_id: count.cards for account_id, count in zip(account_ids, counts, strict=True)}


def _accounts() -> list[int]:
    return list(CarrierAccount.objects.order_by("pk").values_list("pk", flat=True))


def _performed(redis: Redis, questions: Sequence[Call[Answer]]) -> list[Answer]:
    """Return the answers to calls of all accounts.

    Raises:
        redis.RedisError: Redis is away, or refuses one of them.
    """
    answers = Queue(redis).perform(questions)
    for answer in answers:
        if isinstance(answer, ResponseError):
            raise answer
    return [answer for answer in answers if not isinstance(answer, ResponseError)]

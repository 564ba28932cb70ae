"""One round of dispatching over 500 accounts of which no card is due."""

import time
from datetime import timedelta
from statistics import median

from tests.benchmarks import polled
from tests.benchmarks.measuring import Measurement, Options, at_most, stated

ACCOUNTS, CARDS_OF_EACH = 500, 200
ROUNDS = 20
LIMIT_SECONDS = 0.2


def measure(options: Options) -> list[Measurement]:
    """Measure the whole round, its question for the time included."""
    accounts = options.size or ACCOUNTS
    _lay_down(accounts)
    took = [_round() for _ in range(ROUNDS * options.rounds)]
    return [
        at_most(f"dispatch, {accounts} accounts, nothing due", "s", median(took), LIMIT_SECONDS),
        stated("dispatch, the slowest round", "s", max(took)),
    ]


def _lay_down(count: int) -> None:
    """Insert accounts with cards that are due in an hour, and let a poller be there for all of them."""
    from project.kit.clock import database_now
    from scheduler.polling import capacity, connecting
    from scheduler.polling.models import CarrierAccount
    from scheduler.polling.params import SHARED_QUEUE
    from scheduler.polling.queue import Card, Queue, calls
    from scheduler.polling.states import CheckType

    polled.empty()
    now, queue = database_now(), Queue(connecting.client())
    later = dict.fromkeys(CheckType, now + timedelta(hours=1))
    accounts = CarrierAccount.objects.bulk_create(
        CarrierAccount(name=f"account {number}", gateway="http_json", created_at=now, updated_at=now)
        for number in range(count)
    )
    for number, account in enumerate(accounts):
        first = number * CARDS_OF_EACH
        cards = [Card(card_id, later, {}) for card_id in range(first, first + CARDS_OF_EACH)]
        queue.ask(calls.put(account.pk, cards))
        queue.ask(calls.complete_rebuild(account.pk, "benchmark", 0))
    capacity.say(connecting.client(), SHARED_QUEUE, "benchmark", count * CARDS_OF_EACH)


def _round() -> float:
    """Return the seconds of one round, as if its second had just begun."""
    from project.kit.clock import database_now
    from scheduler.polling import connecting, dispatching
    from scheduler.polling.models import CarrierAccount
    from scheduler.polling.queue.keys import key_of

    redis = connecting.client()
    with redis.pipeline(transaction=False) as pipeline:
        for account_id in CarrierAccount.objects.values_list("pk", flat=True):
            pipeline.hdel(key_of(account_id, "state"), "slot")
        pipeline.execute()
    began = time.perf_counter()
    dispatched = dispatching.dispatch(redis, now=database_now())
    took = time.perf_counter() - began
    assert (dispatched.cards, dispatched.not_ready, dispatched.note) == (0, [], ""), dispatched
    return took

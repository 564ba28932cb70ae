"""Whether the polling can do what is asked of it: can its accounts be used, are pollers there, are the live orders
there and in reasonable memory, do the limits go together.
"""

from collections.abc import Iterator, Mapping, Sequence
from datetime import timedelta
from itertools import islice
from math import ceil

from django.conf import settings
from redis import Redis

from project.kit.findings import Finding, or_well, trouble, warning, well
from project.kit.spans import span
from scheduler.polling import accounts, capacity, demand, policy, stats
from scheduler.polling.carriers.registry import BadSettings
from scheduler.polling.fleet import rebuilds
from scheduler.polling.models import CarrierAccount
from scheduler.polling.params import SHARED_QUEUE
from scheduler.polling.queue.keys import keys_of
from scheduler.polling.stats import Live

# Of each kind of trouble so many accounts are named.
NAMED = 10
# Cards are claimed this often.
ROUND = timedelta(seconds=1)

ACCOUNTS, POLLERS, ORDERS, LIMITS, TIERS = "carrier accounts", "pollers", "live orders", "limits", "tiers"


def examine(redis: Redis) -> Iterator[Finding]:
    """Yield what is found of the active accounts.

    Raises:
        redis.RedisError: it is away.
    """
    rows = list(CarrierAccount.objects.filter(active=True).select_related("params").order_by("name"))
    if not rows:
        yield well(ACCOUNTS, "There is none that is active.")
        return
    yield from or_well(_some(_unusable(rows), ACCOUNTS), ACCOUNTS, f"The settings of {_count(rows)} can be used.")
    yield from _pollers(redis, rows)
    yield from _orders(redis, rows)
    yield from or_well(_some(_narrow(rows), LIMITS), LIMITS, "The cards in work are enough for each account's calls.")
    yield from or_well(_some(_demanding(rows), TIERS), TIERS, "They ask no account for more calls than it may make.")


def _some(findings: Iterator[Finding], part: str) -> Iterator[Finding]:
    """Yield the first of the findings, and how many there are beside them."""
    yield from islice(findings, NAMED)
    if more := sum(1 for _ in findings):
        yield warning(part, f"The same holds for {more:,} further accounts.", "See: manage.py polling_stats")


def _count(rows: Sequence[CarrierAccount]) -> str:
    return "one account" if len(rows) == 1 else f"{len(rows):,} accounts"


# --- accounts --------------------------------------------------------------------------------------------------


def _unusable(rows: Sequence[CarrierAccount]) -> Iterator[Finding]:
    for row in rows:
        try:
            accounts.checks_of(row)
        except BadSettings as error:
            yield trouble(ACCOUNTS, f"“{row}” cannot be asked: {error}", "Correct its settings in the control panel.")


def _narrow(rows: Sequence[CarrierAccount]) -> Iterator[Finding]:
    """Yield the accounts whose cards in work are asked before the next round brings others."""
    for row in rows:
        known = accounts.params_of(row)
        takes = policy.full_cycle(known.inflight_limit, known.rate_windows)
        if takes is not None and takes < ROUND:
            needed = ceil(known.inflight_limit * (ROUND / takes))
            yield warning(
                LIMITS,
                f"“{row}” may have {known.inflight_limit:,} cards in work, which at its limit are asked within"
                f" {span(takes)}; others come each second only, so calls are lost.",
                f"Raise its cards in work to {needed:,} or more.",
            )


def _demanding(rows: Sequence[CarrierAccount]) -> Iterator[Finding]:
    asked = demand.of_accounts(rows)
    for row in rows:
        wanted = asked[row.pk].demand
        if not wanted.feasible:
            yield warning(
                TIERS,
                f"They ask “{row}” for {wanted.calls_a_day:,} calls a day, and its rate windows allow"
                f" {wanted.possible_a_day:,}: its cards are asked less often.",
                "Lengthen the intervals of the tiers, or have the carrier allow more.",
            )


# --- pollers ---------------------------------------------------------------------------------------------------


def _pollers(redis: Redis, rows: Sequence[CarrierAccount]) -> Iterator[Finding]:
    wanted: dict[str, int] = {}
    for row in rows:
        known = accounts.params_of(row)
        wanted[known.queue] = wanted.get(known.queue, 0) + accounts.borne(known, row.hold_count)
    for queue, cards in capacity.of_queues(redis, wanted).items():
        yield _of_queue(queue, cards, wanted[queue])


def _of_queue(queue: str, cards: int, wanted: int) -> Finding:
    if queue not in (SHARED_QUEUE, *settings.TIDELINE_POLLING_QUEUES):
        return trouble(
            POLLERS,
            f"Nothing can be sent to the queue {queue}, which accounts name: it is not declared.",
            "Add it to TIDELINE_POLLING_QUEUES of every process.",
        )
    if not cards:
        return trouble(
            POLLERS, f"Nobody reads the queue {queue}.", f"Start a poller with TIDELINE_POLLER_QUEUES={queue}."
        )
    if cards < wanted:
        return warning(
            POLLERS,
            f"Those of {queue} hold {cards:,} cards, and its accounts may have {wanted:,} in work: they share.",
            "Start another poller, or raise TIDELINE_POLLER_CARDS.",
        )
    return well(POLLERS, f"Those of {queue} hold {cards:,} cards; its accounts may have {wanted:,} in work.")


# --- live orders -----------------------------------------------------------------------------------------------


def _orders(redis: Redis, rows: Sequence[CarrierAccount]) -> Iterator[Finding]:
    known = stats.live(redis, rows)
    in_all = f"{sum(each.counts.cards for each in known.values()):,} cards{_bytes_a_card(redis, known)}."
    yield from or_well(_some(_lost(redis, rows, known), ORDERS), ORDERS, in_all)


def _lost(redis: Redis, rows: Sequence[CarrierAccount], known: Mapping[int, Live]) -> Iterator[Finding]:
    without = [row for row in rows if not known[row.pk].counts.epoch]
    progress = rebuilds.progress(redis, [row.pk for row in without])
    for row in without:
        if row.pk in progress and progress[row.pk].under_way:
            yield warning(
                ORDERS,
                f"That of “{row}” is being built: {progress[row.pk].done:,} of {progress[row.pk].total:,} cards.",
                "Wait; see manage.py polling_init --progress",
            )
        else:
            yield trouble(
                ORDERS,
                f"That of “{row}” is lost, and nothing of it is polled.",
                f"It is rebuilt within a minute where scans run; else run: manage.py polling_init “{row}”",
            )


def _bytes_a_card(redis: Redis, known: Mapping[int, Live]) -> str:
    """Return in words what a card takes in Redis, estimated from a few of each key."""
    cards = sum(each.counts.cards for each in known.values())
    if not cards:
        return ""
    with redis.pipeline(transaction=False) as pipeline:
        for account_id in known:
            for key in keys_of(account_id):
                pipeline.memory_usage(key)
        taken = sum(size or 0 for size in pipeline.execute())
    return f" of about {taken // cards:,} bytes each"

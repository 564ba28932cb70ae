"""How the polling of each active account goes, as Redis counts it."""

from collections.abc import Iterator, Sequence
from datetime import datetime, timedelta

from redis import Redis

from project.metrics.definitions import MORE_THAN_SHOWN, MOST_SHOWN, Figure, Metric, counter, gauge, label_of
from scheduler.polling import accounts, policy, stats
from scheduler.polling.models import CarrierAccount
from scheduler.polling.queue import Counts, Traffic
from scheduler.polling.stats import Live, Standing

SECOND = timedelta(seconds=1)

STANDING = gauge(
    "tideline_polling_standing", "Where the account stands: 1 for that, 0 for others.", "account", "standing"
)
ALLOWED = gauge(
    "tideline_polling_allowed_calls_per_second",
    "Calls a second that its rate windows allow in the long run; absent: no window limits it.",
    "account",
)
CARDS = gauge("tideline_polling_cards", "Cards in the live order.", "account")
DUE = gauge("tideline_polling_cards_due", "Cards whose turn has come by the schedule, not claimed yet.", "account")
ASKED = gauge("tideline_polling_cards_asked", "Cards that somebody asked for, not claimed yet.", "account")
IN_WORK = gauge("tideline_polling_cards_in_work", "Cards that are claimed.", "account")

CLAIMED = counter("tideline_polling_claims_total", "Claims of cards.", "account")
FINISHED = counter("tideline_polling_finished_total", "Claims that were finished.", "account")
RELEASED = counter("tideline_polling_released_total", "Claims that were given back undone.", "account")
LEASES_LOST = counter("tideline_polling_leases_lost_total", "Claims that ended with their lease.", "account")
STALE = counter("tideline_polling_stale_finishes_total", "Results that came after their claim was over.", "account")
CALLS = counter("tideline_polling_calls_total", "Calls to the carrier.", "account")
WAITS = counter("tideline_polling_limiter_waits_total", "Calls that waited for their slot at the limiter.", "account")
WAITED = counter("tideline_polling_limiter_waited_seconds_total", "How long they waited together.", "account")
TIMEOUTS = counter(
    "tideline_polling_limiter_timeouts_total", "Calls not made, as they would have waited too long.", "account"
)
METRICS = (
    *(STANDING, ALLOWED, CARDS, DUE, ASKED, IN_WORK),
    *(CLAIMED, FINISHED, RELEASED, LEASES_LOST, STALE),
    *(CALLS, WAITS, WAITED, TIMEOUTS, MORE_THAN_SHOWN),
)


def figures(redis: Redis, now: datetime) -> Iterator[Figure]:
    """Yield the figures, with one query and one round trip.

    Raises:
        redis.RedisError: it is away.
    """
    rows = _accounts()
    yield MORE_THAN_SHOWN.at(len(rows) > MOST_SHOWN, "accounts")
    shown = rows[:MOST_SHOWN]
    known = stats.live(redis, shown) if shown else {}
    for row in shown:
        yield from _of(row, known[row.pk], now)


def _accounts() -> Sequence[CarrierAccount]:
    """Return the accounts that have series of their own, and one more if there are more."""
    rows = CarrierAccount.objects.filter(active=True).select_related("params").defer("settings", "credentials")
    return list(rows.order_by("pk")[: MOST_SHOWN + 1])


def _of(row: CarrierAccount, live: Live, now: datetime) -> Iterator[Figure]:
    name = label_of(row.name, row.pk)
    stands = stats.standing(row, live, now)
    for standing in Standing:
        if standing is not Standing.SWITCHED_OFF:
            yield STANDING.at(standing is stands, name, standing)
    if each := policy.full_cycle(1, accounts.params_of(row).rate_windows):
        yield ALLOWED.at(SECOND / each, name)
    yield from (metric.at(value, name) for metric, value in (*_counts(live.counts), *_traffic(live.traffic)))


def _counts(counts: Counts) -> Iterator[tuple[Metric, float]]:
    yield CARDS, counts.cards
    yield DUE, counts.due
    yield ASKED, counts.asked
    yield IN_WORK, counts.running
    yield CLAIMED, counts.claimed
    yield FINISHED, counts.finished
    yield RELEASED, counts.released
    yield LEASES_LOST, counts.lease_expired
    yield STALE, counts.stale_finish


def _traffic(traffic: Traffic) -> Iterator[tuple[Metric, float]]:
    yield CALLS, traffic.calls
    yield WAITS, traffic.waits
    yield WAITED, traffic.waited.total_seconds()
    yield TIMEOUTS, traffic.timeouts

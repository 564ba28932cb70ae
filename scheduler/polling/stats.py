"""How the polling of each account goes: what waits and what is in work, how many calls are made, what went wrong, and
whether the tiers ask for more than the account bears.

Read with a fixed number of queries and one round trip to Redis, whatever there is.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum
from typing import Any

from django.db.models import Count
from redis import Redis
from redis.exceptions import ResponseError

from alerts.models import Alert
from scheduler.polling import demand, failures, holding
from scheduler.polling.demand import Asked
from scheduler.polling.models import CarrierAccount
from scheduler.polling.queue import Counts, Queue, Traffic, calls

ALERT_KINDS = (failures.CARD_CHECK_FAILING, failures.CARDS_FAILING, holding.ACCOUNT_FAILING)


class Standing(StrEnum):
    """Where an account stands."""

    POLLED = "polled"
    HELD = "held"
    ORDER_LOST = "order lost"
    SWITCHED_OFF = "switched off"


@dataclass(frozen=True, slots=True)
class Live:
    """What Redis knows of an account: what is in its live order, and its calls."""

    counts: Counts
    traffic: Traffic


@dataclass(frozen=True, slots=True)
class AccountStats:
    """How the polling of one account goes.

    Attributes:
        asked: of it, by the tiers.
        open_alerts: of its cards and of itself.
    """

    account: CarrierAccount
    standing: Standing
    live: Live
    asked: Asked
    open_alerts: int

    def as_json(self) -> dict[str, Any]:
        """Return it for programs; instants in UTC, lengths in seconds."""
        counts, traffic, asked = self.live.counts, self.live.traffic, self.asked
        return {
            "account": self.account.name,
            "standing": str(self.standing),
            "held_until": self.account.held_until if self.standing is Standing.HELD else None,
            "cards": asked.cards,
            "cards_without_tier": asked.cards - asked.matched,
            "queue_length": counts.cards,
            "due": counts.due,
            "asked_for": counts.asked,
            "in_work": counts.running,
            "calls_a_second": round(traffic.rate, 2),
            "calls": traffic.calls,
            "limiter_waits": traffic.waits,
            "limiter_waited_seconds": traffic.waited.total_seconds(),
            "limiter_timeouts": traffic.timeouts,
            "claimed": counts.claimed,
            "finished": counts.finished,
            "released": counts.released,
            "leases_expired": counts.lease_expired,
            "stale_finishes": counts.stale_finish,
            "open_alerts": self.open_alerts,
            "calls_wanted_a_day": asked.demand.calls_a_day,
            "calls_possible_a_day": asked.demand.possible_a_day,
            "tiers_feasible": asked.demand.feasible,
            "full_cycle_seconds": asked.full_cycle.total_seconds() if asked.full_cycle is not None else None,
        }


def of_accounts(redis: Redis, rows: Sequence[CarrierAccount], *, now: datetime) -> list[AccountStats]:
    """Return how the polling of each account goes, in their order.

    Raises:
        redis.RedisError: it is away.
    """
    known, asked, alerts = live(redis, rows), demand.of_accounts(rows), open_alerts(rows)
    return [
        AccountStats(
            account=row,
            standing=standing(row, known[row.pk], now),
            live=known[row.pk],
            asked=asked[row.pk],
            open_alerts=alerts[row.pk],
        )
        for row in rows
    ]


def live(redis: Redis, rows: Sequence[CarrierAccount]) -> dict[int, Live]:
    """Return what Redis knows of each account, in one round trip.

    Raises:
        redis.RedisError: it is away, or refuses to count one of them.
    """
    asked: list[calls.Call[Any]] = [ask(row.pk) for row in rows for ask in (calls.count, calls.traffic)]
    answers: list[Any] = Queue(redis).perform(asked)
    if refusal := next((answer for answer in answers if isinstance(answer, ResponseError)), None):
        raise refusal
    told = zip(rows, answers[::2], answers[1::2], strict=True)
    return {row.pk: Live(counts, traffic) for row, counts, traffic in told}


def standing(row: CarrierAccount, known: Live, now: datetime) -> Standing:
    """Return where an account stands."""
    if not row.active:
        return Standing.SWITCHED_OFF
    if not known.counts.epoch:
        return Standing.ORDER_LOST
    if row.held_until is not None and row.held_until > now:
        return Standing.HELD
    return Standing.POLLED


def open_alerts(rows: Sequence[CarrierAccount]) -> Mapping[int, int]:
    """Return how many alerts are open of each account and its cards."""
    alerts = Alert.objects.filter(resolved_at__isnull=True, kind__in=ALERT_KINDS).order_by()
    by_name = dict(alerts.values_list("labels__account").annotate(count=Count("id")))
    return {row.pk: by_name.get(row.name, 0) for row in rows}

"""Quotas for the panel's tests, who waits for them, and the addresses of their pages."""

import itertools
from collections.abc import Sequence
from datetime import datetime, timedelta
from typing import Any
from zoneinfo import ZoneInfo

from django.contrib.admin.models import LogEntry

from project.kit.clock import database_now
from quotas import charging, defining
from quotas.admission import Waiting
from quotas.models import LedgerEntry, Quota
from quotas.states import Kind
from quotas.waiting import WaitingWork
from tests.panel import Desk

SECOND, MINUTE, HOUR, DAY = timedelta(seconds=1), timedelta(minutes=1), timedelta(hours=1), timedelta(days=1)
MODELS = ("quota", "ledgerentry", "reservation", "edge", "providerreport")
DESK = Desk("quotas", MODELS)
member, viewer = DESK.member, DESK.viewer
list_of, page_of, confirm = DESK.list_of, DESK.page_of, DESK.confirm
_numbers = itertools.count(1)

# Who waits, for the source that the fixture `waiting` registers.
QUEUE: list[WaitingWork] = []


def make_quota(limit: int | None = 1000, *, used: int = 0, now: datetime | None = None, **fields: Any) -> Quota:
    """Create a capacity, unless the fields say otherwise, and charge so much to it."""
    now = now or database_now()
    values: dict[str, Any] = {"key": f"quota-{next(_numbers)}", "kind": Kind.CAPACITY, **fields}
    quota = defining.create(now=now, limit=limit, **values)
    if used:
        charge(quota, used, now=now)
    quota.refresh_from_db()
    return quota


def make_daily(limit: int | None = 1000, **fields: Any) -> Quota:
    """Create a quota that resets each day, at a full hour that is about twelve hours away."""
    zone = ZoneInfo(fields.get("timezone", "UTC"))
    far = (database_now() + 12 * HOUR).astimezone(zone).replace(minute=0, second=0, microsecond=0)
    rule = {"kind": Kind.PERIODIC, "reset_preset": "day", "reset_time": far.time()}
    return make_quota(limit, **rule | fields)


def make_rate(limit: int = 10, **fields: Any) -> Quota:
    """Create a quota that refills by one unit each second."""
    return make_quota(limit, kind=Kind.RATE, refill_amount=1, refill_seconds=1, **fields)


def charge(quota: Quota, amount: int, *, now: datetime | None = None, **said: Any) -> LedgerEntry:
    """Charge the amount to the quota, and return its entry."""
    charged = charging.charge(quota.key, amount, now=now or database_now(), **said)
    return LedgerEntry.objects.get(quota=quota, charged=quota, kind="charge", idempotency_key=charged.idempotency_key)


def wait_for(quota: Quota, *needs: int, **said: Any) -> list[WaitingWork]:
    """Let one piece of work for each need wait for the quota and all that it is part of, the first for longest."""
    now = database_now()
    works = [_work(quota, need, now - HOUR + SECOND * place, **said) for place, need in enumerate(needs)]
    QUEUE.extend(works)
    Quota.objects.filter(pk=quota.pk).update(waited_for=min(needs), waited_since=now - HOUR)
    quota.refresh_from_db()
    return works


def _work(quota: Quota, need: int, since: datetime, **said: Any) -> WaitingWork:
    number = next(_numbers)
    waiting = Waiting(f"run:{number}", f"schedule:{number}", 0, since, dict.fromkeys(quota.chain, need))
    return WaitingWork(waiting, f"#{number} figures", f"/runs/{number}/", "Its budget is used up.", **said)


def the_waiting(quota: Quota, limit: int) -> Sequence[WaitingWork]:
    """Return who waits for a quota: the source under test."""
    return [work for work in QUEUE if quota.pk in work.waiting.needs][:limit]


def how_many_wait(quota_ids: Any) -> dict[int, int]:
    """Return how many wait for each of the quotas."""
    return {pk: sum(pk in work.waiting.needs for work in QUEUE) for pk in quota_ids}


def snapshot() -> Any:
    """Return all that an action could change."""
    ledger = list(LedgerEntry.objects.order_by("pk").values())
    return ledger, list(Quota.objects.order_by("pk").values()), LogEntry.objects.count()

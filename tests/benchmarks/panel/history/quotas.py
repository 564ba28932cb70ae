"""Quotas, and what was spent of them."""

from datetime import datetime

from tests.benchmarks.panel.history.size import Size, spread
from tests.benchmarks.panel.inserting import insert, one_of


def lay_down_quotas(size: Size, now: datetime) -> None:
    """Insert quotas, their ledger and all else that they tell."""
    from quotas.models import Edge, LedgerEntry, ProviderReport, Quota, Reservation

    of_quota = f"1 + mod(n, {size.quotas})"
    insert(
        Quota,
        size.quotas,
        now=now,
        key="'quota ' || n",
        limit="100000",
        unit="'calls'",
        reset_preset="'day'",
        used="mod(n * 7919, 100000)",
        period_start="date_trunc('day', now)",
        period_end="date_trunc('day', now) + interval '1 day'",
        verdict="CASE WHEN mod(n, 20) = 0 THEN 'insufficient' ELSE 'sufficient' END",
        verdict_at="now - interval '1 hour'",
        waited_for="CASE WHEN mod(n, 20) = 0 THEN 1 END",
        waited_since="CASE WHEN mod(n, 20) = 0 THEN now - interval '1 hour' END",
        created_at="now",
        updated_at="now",
    )
    insert(
        LedgerEntry,
        size.entries,
        now=now,
        quota_id=of_quota,
        charged_id=of_quota,
        kind=one_of(*["charge"] * 17, "refund", "top_up", "reset"),
        idempotency_key="'key ' || n",
        units="1",
        amount="-1",
        owner=f"'run:' || (1 + n * {size.runs}::bigint / {size.entries})",
        attempt="1",
        over_limit="mod(n, 1000) = 0",
        at=spread(size.entries),
        actor="'worker'",
    )
    reservations = size.entries // 10
    ended = f"n <= {reservations - 5}"
    insert(
        Reservation,
        reservations,
        now=now,
        quota_id=of_quota,
        idempotency_key="'key ' || n",
        purpose=one_of("work", "work", "admission"),
        amount="10",
        owner="'run:' || n",
        state=f"CASE WHEN NOT ({ended}) THEN 'held' WHEN mod(n, 9) = 0 THEN 'expired' ELSE 'settled' END",
        lease_seconds="60",
        expires_at="now",
        created_at=spread(reservations),
        ended_at=f"CASE WHEN {ended} THEN now END",
    )
    latest = {"quota_id": of_quota, "at": spread(size.entries // 20)}
    insert(
        Edge, size.entries // 20, now=now, cause=one_of("reset", "top_up"), available="9", handled_at="now", **latest
    )
    insert(ProviderReport, size.entries // 20, now=now, limited="mod(n, 50) = 0", limit="100", remaining="9", **latest)

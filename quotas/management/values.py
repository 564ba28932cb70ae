"""Quotas, ledger entries and waiting work for programs. A probe's headers are secrets, and named only."""

from datetime import datetime
from typing import Any

from quotas import availability
from quotas.models import LedgerEntry, Quota
from quotas.outlook import next_reset
from quotas.prospects import Place


def quota_values(quota: Quota, now: datetime) -> dict[str, Any]:
    """Return a quota's row, as it stands at the instant."""
    return {
        "key": quota.key,
        "title": quota.title,
        "kind": quota.kind,
        "unit": quota.unit,
        "limit": quota.limit,
        "used": availability.used_at(quota, now),
        "reserved": quota.reserved,
        "available": availability.available(quota, now),
        "next_reset": next_reset(quota, now),
        "timezone": quota.timezone,
        "verdict": quota.verdict,
        "verdict_at": quota.verdict_at,
        "part_of": quota.parent.key if quota.parent else None,
        "shadow": quota.shadow,
        "would_have_been_refused": quota.over_limit_count,
        "refused_until": quota.blocked_until,
        "provider_unverified": quota.provider_unverified,
        "smallest_need_that_waits": quota.waited_for,
        "waits_since": quota.waited_since,
    }


def entry_values(entry: LedgerEntry) -> dict[str, Any]:
    """Return a ledger entry."""
    return {
        "entry": entry.pk,
        "at": entry.at,
        "kind": entry.kind,
        "change": entry.amount,
        "asked": entry.units,
        "charged": entry.charged.key,
        "for": entry.owner,
        "attempt": entry.attempt,
        "by": entry.actor,
        "reason": entry.reason,
        "over_limit": entry.over_limit,
        "key": entry.idempotency_key,
    }


def place_values(place: Place, quota: Quota) -> dict[str, Any]:
    """Return one piece of waiting work."""
    return {
        "work": place.work.waiting.key,
        "title": place.work.title,
        "needs": place.need(quota),
        "since": place.work.waiting.since,
        "goes_on": place.goes_on,
        "expected_at": place.expected_at,
        "held": bool(place.work.held),
        "why": place.obstacle or place.work.why,
    }

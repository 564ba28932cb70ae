"""Quotas, their ledger and who waits, as tables for people."""

from collections.abc import Iterable, Sequence
from datetime import datetime

from project.kit.admin import relative
from project.kit.tables import table
from quotas import availability
from quotas.admin import cells
from quotas.models import LedgerEntry, Quota
from quotas.outlook import next_reset
from quotas.prospects import Place


def quota_table(quotas: Iterable[Quota], now: datetime) -> list[str]:
    """Return a line for each quota."""
    headings = ("KEY", "COMES BACK", "AVAILABLE", "LIMIT", "NEXT RESET", "VERDICT", "SINCE", "PART OF")
    return table(headings, (_quota_row(quota, now) for quota in quotas))


def _quota_row(quota: Quota, now: datetime) -> Sequence[str]:
    reset = next_reset(quota, now)
    return (
        quota.key,
        cells.rule(quota) or "–",
        cells.amount(availability.available(quota, now)),
        cells.amount(quota.limit, quota.unit),
        cells.by_own_clock(quota, reset) if reset else "–",
        quota.get_verdict_display(),
        relative(quota.verdict_at, now),
        quota.parent.key if quota.parent else "",
    )


def ledger_table(quota: Quota, entries: Iterable[LedgerEntry]) -> list[str]:
    """Return a line for each entry, its instant by the quota's own clocks."""
    headings = ("ENTRY", "AT", "WHAT", "CHANGE", "FOR", "BY", "REASON", "KEY")
    return table(headings, (_entry_row(quota, entry) for entry in entries))


def _entry_row(quota: Quota, entry: LedgerEntry) -> Sequence[str]:
    return (
        f"#{entry.pk}",
        cells.by_own_clock(quota, entry.at),
        entry.get_kind_display(),
        f"{entry.amount:+,}",
        entry.owner,
        entry.actor,
        entry.reason,
        entry.idempotency_key,
    )


def waiting_table(quota: Quota, places: Iterable[Place]) -> list[str]:
    """Return a line for each piece of waiting work, in the order in which it goes on."""
    headings = ("", "WORK", "NEEDS", "EXPECTED BACK", "WHY")
    return table(headings, (_place_row(number, place, quota) for number, place in enumerate(places, start=1)))


def _place_row(number: int, place: Place, quota: Quota) -> Sequence[str]:
    if place.goes_on:
        expected = "goes on"
    elif place.work.held:
        expected = "held"
    else:
        expected = cells.by_own_clock(quota, place.expected_at) if place.expected_at else cells.some_time(quota)
    need = cells.amount(place.need(quota), quota.unit)
    return str(number), place.work.title, need, expected, place.obstacle or place.work.why

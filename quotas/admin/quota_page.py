"""What a quota's page shows: where it stands, how long it lasts, who waits, and what happened to it."""

from collections.abc import Iterable
from datetime import datetime
from typing import Any

from django.db.models import F
from django.utils.html import format_html
from django.utils.safestring import SafeString
from django.utils.translation import gettext as _
from django.utils.translation import ngettext

from project.kit.admin import badge, row_link, when
from quotas import availability, forecasting, prospects
from quotas.admin import cells
from quotas.admin.reports import answer_badge
from quotas.models import Edge, LedgerEntry, ProviderReport, Quota, Reservation
from quotas.outlook import next_reset, outlook
from quotas.prospects import Place
from quotas.provider.probes import ProbeSpec
from quotas.states import Kind, ReservationState, Verdict

ENTRIES_SHOWN = 50
WAITING_SHOWN = 100
OTHERS_SHOWN = 10
CHILDREN_SHOWN = 50


def overview(quota: Quota, now: datetime) -> dict[str, Any]:
    """Return what the page shows of the quota."""
    queue = prospects.queue(quota, now=now)
    children = Quota.objects.filter(parent=quota).order_by("key")
    return {
        "badges": cells.verdict_badges(quota),
        "since": when(quota.verdict_at, now),
        "next_step": _next_step(quota, now),
        "bar": cells.bar(quota, now),
        "forecast": _forecast(quota, now),
        "warnings": _warnings(quota, now),
        "facts": _facts(quota, now),
        "provider_facts": _provider_facts(quota, now),
        "waiting": waiting_lines(quota, queue[:WAITING_SHOWN], now),
        "waiting_count": len(queue),
        "more_waiting": max(0, len(queue) - WAITING_SHOWN),
        "entries": [_entry_line(entry, now) for entry in _latest_entries(quota)],
        "edges": [_edge_line(edge, now) for edge in Edge.objects.filter(quota=quota).order_by("-at")[:OTHERS_SHOWN]],
        "reservations": [_reservation_line(held, now) for held in _reservations(quota)],
        "reports": [_report_line(report, now) for report in _latest_reports(quota)],
        "children": [_child_line(child, now) for child in children[:CHILDREN_SHOWN]],
    }


def waiting_lines(quota: Quota, places: Iterable[Place], now: datetime) -> list[dict[str, Any]]:
    """Return the lines of a table of waiting work, in the order in which it goes on."""
    return [_waiting_line(number, place, quota, now) for number, place in enumerate(places, start=1)]


def _waiting_line(number: int, place: Place, quota: Quota, now: datetime) -> dict[str, Any]:
    work = place.work
    return {
        "number": number,
        "work": format_html('<a href="{}">{}</a>', work.url, work.title) if work.url else work.title,
        "need": cells.amount(place.need(quota), quota.unit),
        "since": when(work.waiting.since, now),
        "why": work.why,
        "expected": _expected(place, quota, now),
        "obstacle": place.obstacle,
    }


def _expected(place: Place, quota: Quota, now: datetime) -> SafeString:
    if place.work.held:
        return badge(_("held"), "amber", place.work.held)
    if place.goes_on:
        return badge(_("goes on"), "green", _("It fits into what is available."))
    if place.expected_at is None:
        return format_html('<span class="quiet">{}</span>', cells.some_time(quota))
    return cells.both(place.expected_at, now)


# --- where it stands -------------------------------------------------------------------------------------------


def _next_step(quota: Quota, now: datetime) -> str:
    """Return what has to happen for waiting work to go on, as a sentence; empty if nothing has to."""
    if quota.verdict == Verdict.SUFFICIENT:
        return ""
    if availability.is_blocked(quota, now) or quota.provider_unverified:
        return _provider_step(quota, now)
    if quota.limit == 0:
        return _("Its limit is 0: nothing goes on before somebody raises it.")
    if quota.kind == Kind.CAPACITY:
        return " ".join((cells.goes_on_above(quota), _("Top it up, or set its limit.")))
    return cells.goes_on_above(quota)


def _provider_step(quota: Quota, now: datetime) -> str:
    if not availability.is_blocked(quota, now):
        return _("Its provider's window has passed. One run at a time tries whether the provider answers again.")
    if quota.blocked_without_reset:
        return _("Its provider refuses and does not say until when. One run tries later on.")
    return _("Its provider refuses. Work goes on when the provider has been seen to answer again.")


def _forecast(quota: Quota, now: datetime) -> str:
    """Return how long it lasts, as a sentence; empty where little is known, or nothing is left that could last."""
    known = outlook(quota, now=now)
    if known is None or known.runs_out_at == now:
        return ""
    return forecasting.sentence(known, now=now, timezone=quota.timezone)


def _warnings(quota: Quota, now: datetime) -> list[str]:
    warnings = []
    used = availability.used_at(quota, now)
    if quota.warned_percent and used == quota.used:
        warnings.append(_("%(percent)s %% of it is used; that was told.") % {"percent": quota.warned_percent})
    if quota.limit is not None and used > quota.limit:
        debt = cells.amount(used - quota.limit, quota.unit)
        warnings.append(_("It owes %(debt)s: more is used than its limit.") % {"debt": debt})
    if quota.shadow:
        text = ngettext(
            "Shadow mode: it blocks nothing. %(count)s charge would have been refused.",
            "Shadow mode: it blocks nothing. %(count)s charges would have been refused.",
            quota.over_limit_count,
        )
        warnings.append(text % {"count": f"{quota.over_limit_count:,}"})
    return warnings


# --- facts -----------------------------------------------------------------------------------------------------


def _facts(quota: Quota, now: datetime) -> list[tuple[str, Any]]:
    """Return what is known of the quota, as labels and values; what does not apply is left out."""
    facts: list[tuple[str, Any]] = [
        (_("key"), format_html("<code>{}</code>", quota.key)),
        (_("limit"), cells.amount(quota.limit, quota.unit)),
        (_("used"), cells.amount(availability.used_at(quota, now), quota.unit)),
        (_("reserved"), cells.amount(quota.reserved, quota.unit) if quota.reserved else None),
        (_("comes back"), cells.rule(quota)),
        *_reset_facts(quota, now),
        (_("part of"), row_link(quota.parent, quota.parent.key) if quota.parent else None),
        (_("sufficient above"), cells.amount(availability.bar(quota), quota.unit) if quota.limit else None),
        (_("smallest need that waits"), None if quota.waited_for is None else f"{quota.waited_for:,}"),
        (_("oldest waits since"), when(quota.waited_since, now) if quota.waited_since else None),
        (_("next fallback check"), when(quota.next_check_at, now) if quota.next_check_at else None),
        (_("resumes are spread over"), _("%(count)s s") % {"count": quota.spread_seconds}),
    ]
    return [fact for fact in facts if fact[1] is not None]


def _reset_facts(quota: Quota, now: datetime) -> list[tuple[str, Any]]:
    if quota.kind == Kind.RATE:
        full = cells.full_again(quota)
        return [(_("full again"), cells.both(full, now) if full and full > now else _("now"))]
    reset = next_reset(quota, now)
    if reset is None:
        return []
    return [
        (_("next reset"), cells.both(reset, now)),
        (_("by its own clock"), cells.by_own_clock(quota, reset)),
    ]


def _provider_facts(quota: Quota, now: datetime) -> list[tuple[str, Any]]:
    """Return what the provider said, as labels and values."""
    until = cells.both(quota.blocked_until, now) if quota.blocked_until else None
    facts: list[tuple[str, Any]] = [
        (_("refused until, by our guess") if quota.blocked_without_reset else _("refused until"), until),
        (_("refusals in a row"), quota.blocked_count or None),
        (_("remaining"), _known(quota.provider_remaining)),
        (_("limit"), _known(quota.provider_limit)),
        (_("resets"), cells.both(quota.provider_resets_at, now) if quota.provider_resets_at else None),
        (_("verified"), _("no: one run at a time tries") if quota.provider_unverified else None),
        (_("tried by"), cells.owner(quota.trial_owner) or None),
        (_("said"), when(quota.provider_observed_at, now) if quota.provider_observed_at else None),
        (_("usage endpoint"), ProbeSpec(quota.probe_url).server if quota.probe_url else None),
    ]
    return [fact for fact in facts if fact[1] is not None]


def _known(units: int | None) -> str | None:
    return None if units is None else f"{units:,}"


# --- what happened ---------------------------------------------------------------------------------------------


def _latest_entries(quota: Quota) -> Iterable[LedgerEntry]:
    return LedgerEntry.objects.filter(quota=quota).select_related("charged").order_by("-id")[:ENTRIES_SHOWN]


def _entry_line(entry: LedgerEntry, now: datetime) -> dict[str, Any]:
    elsewhere = entry.charged_id != entry.quota_id
    return {
        "number": row_link(entry, f"#{entry.pk}"),
        "at": when(entry.at, now),
        "badge": cells.entry_badge(entry),
        "change": cells.change(entry.amount),
        "owner": cells.owner(entry.owner),
        "charged": row_link(entry.charged, entry.charged.key) if elsewhere else "",
        "said": ": ".join(part for part in (entry.actor, entry.reason) if part),
    }


def _edge_line(edge: Edge, now: datetime) -> dict[str, Any]:
    handled = when(edge.handled_at, now) if edge.handled_at else badge(_("not yet"), "amber")
    return {
        "at": when(edge.at, now),
        "cause": edge.get_cause_display(),
        "available": cells.amount(edge.available),
        "handled": handled,
        "resumed": edge.resumed_count,
    }


def _reservations(quota: Quota) -> Iterable[Reservation]:
    """Return what is held, and behind it what ended lately."""
    return Reservation.objects.filter(quota=quota).order_by(F("ended_at").desc(nulls_first=True), "-id")[:OTHERS_SHOWN]


def _reservation_line(reservation: Reservation, now: datetime) -> dict[str, Any]:
    held = reservation.state == ReservationState.HELD
    return {
        "badge": cells.reservation_badge(reservation.state),
        "amount": f"{reservation.amount:,}",
        "owner": cells.owner(reservation.owner),
        "purpose": reservation.get_purpose_display(),
        "ends": when(reservation.expires_at if held else reservation.ended_at, now),
    }


def _latest_reports(quota: Quota) -> Iterable[ProviderReport]:
    return ProviderReport.objects.filter(quota=quota).order_by("-at")[:OTHERS_SHOWN]


def _report_line(report: ProviderReport, now: datetime) -> dict[str, Any]:
    return {
        "at": when(report.at, now),
        "badge": answer_badge(report),
        "remaining": _known(report.remaining) or "",
        "limit": _known(report.limit) or "",
        "resets": when(report.resets_at or report.retry_at, now),
        "doubts": report.doubts,
    }


def _child_line(child: Quota, now: datetime) -> dict[str, Any]:
    return {
        "quota": row_link(child, child.key),
        "title": child.title,
        "bar": cells.bar(child, now),
        "badges": cells.verdict_badges(child),
    }

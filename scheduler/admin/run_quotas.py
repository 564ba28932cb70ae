"""What a run's page shows of its quotas: for what it waits, how it was resumed, and what it was charged."""

from collections.abc import Mapping
from datetime import datetime
from typing import Any

from django.db.models import Count, F, Q, Sum
from django.urls import reverse
from django.utils.html import format_html
from django.utils.http import urlencode
from django.utils.safestring import SafeString
from django.utils.translation import gettext as _
from django.utils.translation import ngettext, pgettext

from project.kit.admin import badge, row_link, when
from quotas import availability
from quotas.admin.cells import both
from quotas.models import LedgerEntry, Quota
from quotas.states import EntryKind
from scheduler.admin import cells
from scheduler.explaining import Need, QuotaFacts
from scheduler.models import Pause, TaskRun
from scheduler.states import EventTrigger, RunState
from scheduler.waits import owner_of

# Of a run that charges in a loop the latest entries are counted, each time the page is shown.
ENTRIES_COUNTED = 1000


def section(run: TaskRun, quotas: QuotaFacts, now: datetime) -> dict[str, Any] | None:
    """Return what the page shows; None for a run that has nothing to do with quotas."""
    charges = _charges(run)
    facts = _facts(run, quotas, now)
    if not (facts or quotas.needs or charges):
        return None
    return {
        "facts": facts,
        "waits": [_wait_line(need, now) for need in quotas.needs] if run.state == RunState.PAUSED else [],
        "charges": charges,
        "ledger": f"{reverse('admin:quotas_ledgerentry_changelist')}?{urlencode({'owner': owner_of(run.pk)})}",
    }


# --- facts -----------------------------------------------------------------------------------------------------


def _facts(run: TaskRun, quotas: QuotaFacts, now: datetime) -> list[tuple[str, Any]]:
    """Return how the run stands with its quotas, as labels and values; what does not apply is left out."""
    paused, resuming = run.state == RunState.PAUSED, run.state == RunState.RESUMING
    facts = [
        (_("expected back"), _expected(quotas, now) if paused and quotas.needs else None),
        (_("its turn"), _turn(quotas) if paused else None),
        *(_pause_facts(run, quotas.pause, now) if quotas.pause else []),
        (_("to be begun by"), both(run.deadline_at, now) if resuming and run.deadline_at else None),
        (_("tries the provider of"), _quota_link(quotas.tries) if quotas.tries else None),
        (_("needs to begin"), _need_to_begin(run)),
        (_("goes on by itself"), cells.valve(run)),
    ]
    return [(label, value) for label, value in facts if value is not None]


def _expected(quotas: QuotaFacts, now: datetime) -> SafeString:
    if quotas.pause is not None and quotas.pause.held:
        return badge(_("held"), "amber", quotas.pause.get_held_display())
    expected = quotas.expected_at(now)
    if expected is None or any(need.above_limit() for need in quotas.needs):
        return format_html('<span class="quiet">{}</span>', _("not known"))
    return both(max(expected, now), now)


def _turn(quotas: QuotaFacts) -> str | None:
    if not quotas.number or (quotas.pause is not None and quotas.pause.held):
        return None
    return _("%(number)s of %(count)s") % {"number": f"{quotas.number:,}", "count": f"{quotas.waiting:,}"}


def _pause_facts(run: TaskRun, pause: Pause, now: datetime) -> list[tuple[str, Any]]:
    paused = run.state == RunState.PAUSED
    times = ngettext("%(count)s time", "%(count)s times", pause.resume_count) % {"count": f"{pause.resume_count:,}"}
    by = EventTrigger(pause.last_trigger).label if pause.last_trigger else ""
    delayed = paused and pause.not_before is not None and pause.not_before > now
    return [
        (_("held"), pause.get_held_display() if paused and pause.held else None),
        (_("not resumed before"), both(pause.not_before, now) if delayed and pause.not_before else None),
        (_("setbacks in a row"), pause.setbacks or None),
        (
            pgettext("run", "paused"),
            ngettext("%(count)s time", "%(count)s times", run.pause_count) % {"count": run.pause_count},
        ),
        (_("resumed"), times if pause.resume_count else _("never")),
        (_("last resumed"), both(pause.last_resumed_at, now) if pause.last_resumed_at else None),
        (_("last resumed by"), by or None),
    ]


def _need_to_begin(run: TaskRun) -> SafeString | None:
    if run.quota is None:
        return None
    need = run.quota_need or run.quota.default_step
    return format_html("{} {}", cells.amount(need, run.quota), _quota_link(run.quota))


# --- waits -----------------------------------------------------------------------------------------------------


def _wait_line(need: Need, now: datetime) -> dict[str, Any]:
    link = need.above_limit() or need.refused_by(now) or need.quota
    left = availability.available(link, now)
    return {
        "quota": _quota_link(need.quota),
        "lacking": _quota_link(link) if link is not need.quota else "",
        "need": cells.amount(need.amount, need.quota),
        "left": _("unlimited") if left is None else cells.amount(left, link),
        "since": when(need.wait.since, now) if need.wait else "",
        "why": need.wait.get_why_display() if need.wait else "",
    }


def _quota_link(quota: Quota) -> SafeString:
    return row_link(quota, quota.key)


# --- charges ---------------------------------------------------------------------------------------------------


def _charges(run: TaskRun) -> list[dict[str, Any]]:
    """Return what the run was charged and given back in each quota that it charged, of its latest entries."""
    own = LedgerEntry.objects.filter(owner=owner_of(run.pk), quota=F("charged"))
    latest = own.order_by("-id").values("id")[:ENTRIES_COUNTED]
    charged, refunded = Q(kind=EntryKind.CHARGE), Q(kind=EntryKind.REFUND)
    rows = LedgerEntry.objects.filter(id__in=latest).values("quota", "quota__key", "quota__unit").order_by("quota__key")
    return [
        _charge_line(row)
        for row in rows.annotate(
            count=Count("id", filter=charged),
            charged_units=Sum("units", filter=charged, default=0),
            refunded_units=Sum("units", filter=refunded, default=0),
        )
    ]


def _charge_line(row: Mapping[str, Any]) -> dict[str, Any]:
    address = reverse("admin:quotas_quota_change", args=[row["quota"]])
    unit = row["quota__unit"]
    return {
        "quota": format_html('<a href="{}">{}</a>', address, row["quota__key"]),
        "count": f"{row['count']:,}",
        "charged": f"{row['charged_units']:,} {unit}".rstrip(),
        "refunded": f"{row['refunded_units']:,} {unit}".rstrip() if row["refunded_units"] else "",
    }

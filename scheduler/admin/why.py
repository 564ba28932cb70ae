"""Why something ran or did not, and what happens next: the answers of scheduler.explaining, as pages show them."""

from datetime import datetime
from typing import Any

from django import forms
from django.urls import NoReverseMatch, reverse
from django.utils.html import format_html, format_html_join
from django.utils.safestring import SafeString
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy

from project.kit.admin import when
from project.kit.sentences import closed
from scheduler import cron
from scheduler.admin.wall_clock import WallClockField, from_wall
from scheduler.cron import TriggerError
from scheduler.explaining import Explanation, RowRef, explain
from scheduler.models import Schedule

# The tables whose names here and in an explanation differ, or that are another app's.
MODELS = {"run": "scheduler_taskrun", "event": "scheduler_runevent", "quota": "quotas_quota"}


class WhyForm(forms.Form):
    """The instant that is asked about, by the clocks of the schedule's zone."""

    why_at = WallClockField(label=gettext_lazy("Why at …?"))


def shown(explanation: Explanation, now: datetime) -> list[dict[str, Any]]:
    """Return the answer, and the one about its run, as a page shows them."""
    return [_shown(part, now) for part in explanation.chain()]


def asked(schedule: Schedule, query: dict[str, Any], now: datetime) -> dict[str, Any]:
    """Return the form that asks about an instant, and the answer if one was asked about."""
    if "why_at" not in query:
        return {"form": WhyForm()}
    form = WhyForm(query)
    if not form.is_valid():
        return {"form": form}
    try:
        at = from_wall(form.cleaned_data["why_at"], cron.zone(schedule.timezone))
    except TriggerError as error:
        form.add_error("why_at", str(error))
        return {"form": form}
    return {"form": form, "why": shown(explain(schedule, at=at, now=now), now)}


def _shown(explanation: Explanation, now: datetime) -> dict[str, Any]:
    return {
        "answer": explanation.answer,
        "next": _next(explanation, now),
        "waits_for": explanation.waits_for,
        "held_by": explanation.held_by,
        "rows": format_html_join(", ", "{}", ((_row(row),) for row in explanation.rows)),
    }


def _next(explanation: Explanation, now: datetime) -> SafeString:
    if not explanation.next_step:
        return SafeString()
    if explanation.next_at is None:
        return format_html("{}", closed(explanation.next_step))
    return format_html(_("{step} {at}."), step=explanation.next_step, at=when(explanation.next_at, now))


def _row(row: RowRef) -> SafeString:
    text = _("%(kind)s #%(id)s") % {"kind": _(row.kind), "id": row.id}
    try:
        address = reverse(f"admin:{MODELS.get(row.kind, f'scheduler_{row.kind}')}_change", args=[row.id])
    except NoReverseMatch:  # a table that has no pages
        return format_html("{}", text)
    return format_html('<a href="{}">{}</a>', address, text)

"""The cut-overs: the list, and how far one is. One is begun on the page of the setting that says who decides."""

from datetime import datetime
from typing import Any

from django.contrib import admin
from django.http import HttpRequest
from django.utils.safestring import SafeString
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy

from project.kit.admin import HistoryAdmin, ObjectPageMixin, badge, seen_at, when
from scheduler.polling.models import Cutover
from scheduler.polling.states import CutoverPhase

REFRESH_SECONDS = 2
# What is counted, in the order of the phases.
COUNTED = {
    "at_work": gettext_lazy("cards in work"),
    "to_build": gettext_lazy("parts still to be built"),
    "cards": gettext_lazy("cards on the other side"),
    "mended": gettext_lazy("differences mended"),
    "astray": gettext_lazy("cards too many or too few"),
    "twice": gettext_lazy("cards still on the former side"),
}


@admin.register(Cutover)
class CutoverAdmin(ObjectPageMixin, HistoryAdmin):
    """The cut-overs."""

    list_display = ("to", "standing", "actor", "started", "note")
    ordering = ("-id",)
    page_template = "admin/object_page.html"
    fragment_template = "admin/polling/cutover/page.html"

    @admin.display(description=gettext_lazy("to"))
    def to(self, row: Cutover) -> str:
        """Who is to decide."""
        return row.wanted

    @admin.display(description=gettext_lazy("phase"))
    def standing(self, row: Cutover) -> SafeString:
        """How far it is."""
        return phase_badge(row)

    @admin.display(description=gettext_lazy("started"))
    def started(self, row: Cutover) -> SafeString:
        """When it was started."""
        return when(row.started_at, seen_at(row))

    def page_context(self, request: HttpRequest, row: Cutover) -> dict[str, Any]:
        """Return what the page shows of a cut-over."""
        return {
            "cutover": row,
            "badge": phase_badge(row),
            "phases": _phases(row),
            "facts": _facts(row, seen_at(row)),
            "refresh_seconds": REFRESH_SECONDS if row.ended_at is None else 0,
        }


def phase_badge(row: Cutover) -> SafeString:
    """Return how far it is: amber while nothing is claimed."""
    return badge(row.get_phase_display(), "green" if row.ended_at else "amber")


def _phases(row: Cutover) -> list[dict[str, Any]]:
    """Return every phase: which are over, and which it is at."""
    order = list(CutoverPhase)
    at = len(order) if row.ended_at else order.index(CutoverPhase(row.phase))
    marks = {"over": _("done"), "now": _("now"), "to-come": ""}
    standings = ["over" if place < at else "now" if place == at else "to-come" for place in range(len(order))]
    return [
        {"label": phase.label, "standing": standing, "mark": marks[standing]}
        for phase, standing in zip(order, standings, strict=True)
    ]


def _facts(row: Cutover, now: datetime) -> list[tuple[str, Any]]:
    facts: list[tuple[str, Any]] = [
        (_("started by"), row.actor),
        (_("started"), when(row.started_at, now)),
        (_("in this phase since"), when(row.phase_since, now)),
    ]
    counted = [(str(label), f"{row.progress[name]:,}") for name, label in COUNTED.items() if name in row.progress]
    return facts + counted

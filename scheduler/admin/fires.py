"""Fires: what became of each due time."""

from typing import Any

from django.contrib import admin
from django.db.models import QuerySet
from django.http import HttpRequest
from django.utils.safestring import SafeString
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy

from project.kit.admin import HistoryAdmin, ObjectPageMixin, absolute, seen_at, short, when
from scheduler.admin import cells, why
from scheduler.admin.filters import ScheduleFilter
from scheduler.explaining import explain_fire
from scheduler.models import Fire, Schedule, TaskRun


@admin.register(Fire)
class FireAdmin(ObjectPageMixin, HistoryAdmin):
    """The fires."""

    list_display = (
        "due",
        "schedule_name",
        "why_claimed",
        "outcome_badge",
        "why",
        "missed_times",
        "run_number",
        "actor",
    )
    list_filter = ("outcome", "kind", ScheduleFilter)
    search_fields = ("schedule__name",)
    search_help_text = gettext_lazy("part of a schedule's name")
    ordering = ("-fire_at", "-id")
    page_template = "admin/object_page.html"
    fragment_template = "admin/scheduler/fire/page.html"

    def for_list(self, rows: QuerySet[Fire]) -> QuerySet[Fire]:
        """Return the rows with their schedule's name and their run's number."""
        schedule = [f"schedule__{name}" for name in ("id", "name")]
        run = [f"run__{name}" for name in ("id", "fire")]
        own = [column.name for column in Fire._meta.concrete_fields]
        return rows.select_related("schedule", "run").only(*own, *schedule, *run)

    def get_search_results(
        self, request: HttpRequest, queryset: QuerySet[Fire], search_term: str
    ) -> tuple[QuerySet[Fire], bool]:
        """Find the fires of schedules by name: by the index of schedules, not by reading all fires."""
        term = search_term.strip()
        if not term:
            return queryset, False
        schedules = list(Schedule.objects.filter(name__icontains=term).values_list("pk", flat=True)[:1000])
        return queryset.filter(schedule__in=schedules), False

    @admin.display(description=gettext_lazy("due at"))
    def due(self, fire: Fire) -> SafeString:
        """When it was due."""
        return when(fire.fire_at, seen_at(fire))

    @admin.display(description=gettext_lazy("schedule"))
    def schedule_name(self, fire: Fire) -> SafeString:
        """Whose fire it is."""
        return cells.schedule_link(fire.schedule_id, fire.schedule.name)

    @admin.display(description=gettext_lazy("kind"))
    def why_claimed(self, fire: Fire) -> str:
        """Why it was claimed."""
        return cells.kind_text(fire.kind)

    @admin.display(description=gettext_lazy("outcome"))
    def outcome_badge(self, fire: Fire) -> SafeString:
        """What became of it."""
        return cells.fire_badge(fire.outcome)

    @admin.display(description=gettext_lazy("reason"))
    def why(self, fire: Fire) -> SafeString:
        """Why."""
        return short(fire.reason, 110)

    @admin.display(description=gettext_lazy("missed"))
    def missed_times(self, fire: Fire) -> str:
        """How many due times it stands for, where it is a skip."""
        return str(fire.missed_count or "")

    @admin.display(description=gettext_lazy("run"))
    def run_number(self, fire: Fire) -> SafeString:
        """The run that it opened."""
        return cells.run_link(run.pk if (run := _run_of(fire)) else None)

    def page_context(self, request: HttpRequest, row: Fire) -> dict[str, Any]:
        """Return what the page shows of a fire."""
        now = seen_at(row)
        facts: list[tuple[str, Any]] = [
            (_("schedule"), cells.schedule_link(row.schedule_id, row.schedule.name)),
            (_("due at"), when(row.fire_at, now)),
            (_("exactly"), absolute(row.fire_at)),
            (_("recorded"), when(row.recorded_at, now)),
            (_("kind"), cells.kind_text(row.kind)),
            (_("by"), row.actor),
            (_("missed"), cells.missed_span(row)),
            (_("run"), cells.run_link(run.pk, str(run)) if (run := _run_of(row)) else ""),
        ]
        return {
            "fire": row,
            "badge": cells.fire_badge(row.outcome),
            "why": why.shown(explain_fire(row, now=now), now),
            "facts": [fact for fact in facts if fact[1]],
        }


def _run_of(fire: Fire) -> TaskRun | None:
    return getattr(fire, "run", None)

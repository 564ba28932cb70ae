"""Events: every transition of every run."""

from typing import Any

from django.contrib import admin
from django.db.models import QuerySet
from django.http import HttpRequest
from django.utils.html import format_html
from django.utils.safestring import SafeString
from django.utils.translation import gettext_lazy

from project.kit.admin import HistoryAdmin, seen_at, short, when
from scheduler.admin import cells
from scheduler.models import RunEvent


@admin.register(RunEvent)
class RunEventAdmin(HistoryAdmin):
    """The events. A row leads to its run, where it stands among the others."""

    list_display = ("happened", "run_number", "transition", "trigger", "actor", "why", "attempt")
    list_display_links = None
    list_filter = ("to_state", "trigger")
    search_fields = ("run__id",)
    search_help_text = gettext_lazy("number of a run")
    ordering = ("-id",)

    def for_list(self, rows: QuerySet[RunEvent]) -> QuerySet[RunEvent]:
        """Return the rows with their run's name."""
        own = [column.name for column in RunEvent._meta.concrete_fields]
        return rows.select_related("run").only(*own, "run__id", "run__name")

    def get_search_results(
        self, request: HttpRequest, queryset: QuerySet[RunEvent], search_term: str
    ) -> tuple[QuerySet[RunEvent], bool]:
        """Find the events of a run by its number."""
        number = search_term.strip().removeprefix("#")
        if not number:
            return queryset, False
        return (queryset.filter(run=int(number)) if number.isdecimal() else queryset.none()), False

    def get_readonly_fields(self, request: HttpRequest, obj: Any = None) -> tuple[str, ...]:
        """Return all fields."""
        return tuple(column.name for column in self.opts.concrete_fields)

    @admin.display(description=gettext_lazy("at"))
    def happened(self, event: RunEvent) -> SafeString:
        """When it happened."""
        return when(event.at, seen_at(event))

    @admin.display(description=gettext_lazy("run"))
    def run_number(self, event: RunEvent) -> SafeString:
        """Whose event it is."""
        return cells.run_link(event.run_id, f"#{event.run_id} {event.run.name}")

    @admin.display(description=gettext_lazy("transition"))
    def transition(self, event: RunEvent) -> SafeString:
        """From where to where."""
        target = cells.state_badge(event.to_state)
        return format_html("{} → {}", event.get_from_state_display(), target) if event.from_state else target

    @admin.display(description=gettext_lazy("reason"))
    def why(self, event: RunEvent) -> SafeString:
        """Why."""
        return short(event.reason, 110)

"""Attempts: each execution of a run, with its output."""

from typing import Any

from django.contrib import admin
from django.db.models import QuerySet
from django.http import HttpRequest
from django.utils.safestring import SafeString
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy

from project.kit.admin import HistoryAdmin, ObjectPageMixin, seen_at, short, when
from scheduler.admin import cells
from scheduler.models import Attempt


@admin.register(Attempt)
class AttemptAdmin(ObjectPageMixin, HistoryAdmin):
    """The attempts."""

    list_display = ("name", "run_number", "number", "outcome_badge", "why", "worker", "started", "lasted")
    list_filter = ("outcome",)
    search_fields = ("run__id",)
    search_help_text = gettext_lazy("number of a run")
    ordering = ("-id",)
    page_template = "admin/object_page.html"
    fragment_template = "admin/scheduler/attempt/page.html"

    def for_list(self, rows: QuerySet[Attempt]) -> QuerySet[Attempt]:
        """Return the rows with their run's name, without their output."""
        own = [column.name for column in Attempt._meta.concrete_fields if column.name not in ("output", "traceback")]
        return rows.select_related("run").only(*own, "run__id", "run__name", "run__stat_date")

    def get_search_results(
        self, request: HttpRequest, queryset: QuerySet[Attempt], search_term: str
    ) -> tuple[QuerySet[Attempt], bool]:
        """Find the attempts of a run by its number."""
        number = search_term.strip().removeprefix("#")
        if not number:
            return queryset, False
        return (queryset.filter(run=int(number)) if number.isdecimal() else queryset.none()), False

    @admin.display(description=gettext_lazy("attempt"))
    def name(self, attempt: Attempt) -> str:
        """Of which run it is."""
        return f"{attempt.run.name} {attempt.run.stat_date}"

    @admin.display(description=gettext_lazy("run"))
    def run_number(self, attempt: Attempt) -> SafeString:
        """Its run."""
        return cells.run_link(attempt.run_id)

    @admin.display(description=gettext_lazy("outcome"))
    def outcome_badge(self, attempt: Attempt) -> SafeString:
        """How it ended."""
        return cells.attempt_badge(attempt)

    @admin.display(description=gettext_lazy("error"))
    def why(self, attempt: Attempt) -> SafeString:
        """What went wrong."""
        return short(attempt.error)

    @admin.display(description=gettext_lazy("started"))
    def started(self, attempt: Attempt) -> SafeString:
        """When it began."""
        return when(attempt.started_at, seen_at(attempt))

    @admin.display(description=gettext_lazy("took"))
    def lasted(self, attempt: Attempt) -> str:
        """How long it took."""
        return cells.took(attempt.started_at, attempt.finished_at, seen_at(attempt))

    def page_context(self, request: HttpRequest, row: Attempt) -> dict[str, Any]:
        """Return what the page shows of an attempt."""
        now = seen_at(row)
        facts: list[tuple[str, Any]] = [
            (_("run"), cells.run_link(row.run_id, str(row.run))),
            (_("worker"), f"{row.worker} ({row.pid})"),
            (_("was due"), when(row.due_at, now)),
            (_("started"), when(row.started_at, now)),
            (_("ended"), when(row.finished_at, now)),
            (_("took"), cells.took(row.started_at, row.finished_at, now)),
        ]
        return {"attempt": row, "badge": cells.attempt_badge(row), "facts": facts}

"""Alerts: the list, with what is open first, and the page of one."""

from typing import Any

from django.contrib import admin
from django.db.models import F, QuerySet
from django.http import HttpRequest
from django.utils.safestring import SafeString
from django.utils.translation import gettext_lazy

from alerts.admin import alert_page, cells
from alerts.admin.alert_actions import ALERT_ACTIONS
from alerts.admin.filters import AlertQuestionFilter, KindFilter
from alerts.families import count_under
from alerts.kinds import kind_label
from alerts.models import Alert
from project.kit.admin import BulkActionsMixin, HistoryAdmin, ObjectPageMixin, seen_at, when

REFRESH_SECONDS = 5


@admin.register(Alert)
class AlertAdmin(BulkActionsMixin, ObjectPageMixin, HistoryAdmin):
    """The alerts. They are raised and resolved by what happens; people handle them by actions."""

    list_display = ("level", "standing", "title", "what", "count", "under", "began", "latest", "telling")
    list_display_links = ("title",)
    list_filter = (AlertQuestionFilter, KindFilter, "severity")
    search_fields = ("title", "=subject", "=fingerprint")
    search_help_text = gettext_lazy("title, or exact subject")
    ordering = (F("resolved_at").desc(nulls_first=True), "-last_at")
    object_actions = ALERT_ACTIONS
    page_template = "admin/object_page.html"
    fragment_template = "admin/alerts/alert/page.html"

    def seen(self, row: Alert) -> str:
        """Return what a confirmation is bound to: where the alert stands; that it occurs again does not matter."""
        return row.state

    def get_queryset(self, request: HttpRequest) -> QuerySet[Alert]:
        """Return the alerts, each with the one that it is part of, and how many open ones are part of it."""
        rows: QuerySet[Alert] = super().get_queryset(request).select_related("parent")
        return rows.annotate(count_under=count_under())

    # --- the list's columns ------------------------------------------------------------------------------------

    @admin.display(description=gettext_lazy("severity"))
    def level(self, alert: Alert) -> SafeString:
        """How much it matters."""
        return cells.severity_badge(alert.severity)

    @admin.display(description=gettext_lazy("state"))
    def standing(self, alert: Alert) -> SafeString:
        """Where it stands."""
        return cells.state_badge(alert)

    @admin.display(description=gettext_lazy("kind"))
    def what(self, alert: Alert) -> str:
        """What happened."""
        return kind_label(alert.kind)

    @admin.display(description=gettext_lazy("under it"))
    def under(self, alert: Any) -> str:
        """How many open alerts stand under it."""
        return f"{alert.count_under:,}" if alert.count_under else ""

    @admin.display(description=gettext_lazy("first"))
    def began(self, alert: Alert) -> SafeString:
        """When it opened."""
        return when(alert.first_at, seen_at(alert))

    @admin.display(description=gettext_lazy("last"))
    def latest(self, alert: Alert) -> SafeString:
        """When it occurred last."""
        return when(alert.last_at, seen_at(alert))

    @admin.display(description=gettext_lazy("told"))
    def telling(self, alert: Alert) -> SafeString:
        """When it was told, or why not."""
        return cells.told(alert, seen_at(alert))

    # --- the page ----------------------------------------------------------------------------------------------

    def page_context(self, request: HttpRequest, row: Alert) -> dict[str, Any]:
        """Return what the page shows of an alert."""
        return {
            "alert": row,
            "actions": self.offered_actions(request, row),
            "refresh_seconds": REFRESH_SECONDS,
            **alert_page.overview(row, seen_at(row)),
        }

"""History: rows that nobody edits."""

from typing import Any

from django.http import HttpRequest

from project.kit.admin.pages import PanelAdmin


class HistoryAdmin(PanelAdmin):
    """An admin that shows and never writes. It sorts by its index alone: any other order would read all of history."""

    sortable_by = ()

    def has_add_permission(self, request: HttpRequest, *args: Any) -> bool:
        """Say that nobody may."""
        return False

    def has_change_permission(self, request: HttpRequest, obj: Any = None) -> bool:
        """Say that nobody may."""
        return False

    def has_delete_permission(self, request: HttpRequest, obj: Any = None) -> bool:
        """Say that nobody may."""
        return False

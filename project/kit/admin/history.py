"""History: rows that nobody edits, in lists that nobody counts."""

from typing import Any

from django.contrib.admin.views.main import ChangeList
from django.http import HttpRequest

from project.kit.admin.pages import PanelAdmin, PanelList


class UncountedList(PanelList):
    """A list that reads one row more than a page to know whether there is a next one, and counts nothing.

    Attributes:
        has_next: there are further rows behind this page.
    """

    uncounted = True
    has_next = False

    def get_results(self, request: HttpRequest) -> None:
        """Read the page's rows."""
        self.page_num = max(1, self.page_num)
        first = (self.page_num - 1) * self.list_per_page
        rows = list(self.queryset[first : first + self.list_per_page + 1])
        self.has_next = len(rows) > self.list_per_page
        self.result_list = rows[: self.list_per_page]
        self.result_count = len(self.result_list)  # of the page: so that nobody is offered "select all"
        self.full_result_count = None
        self.can_show_all = self.multi_page = False
        self.show_admin_actions = bool(rows)

    @property
    def previous_page_query(self) -> str:
        """The query string of the page before."""
        return self.get_query_string({"p": self.page_num - 1})

    @property
    def next_page_query(self) -> str:
        """The query string of the page behind."""
        return self.get_query_string({"p": self.page_num + 1})


class HistoryAdmin(PanelAdmin):
    """An admin that shows and never writes. It sorts by its index alone: any other order would read all of history."""

    sortable_by = ()

    def get_changelist(self, request: HttpRequest, **kwargs: Any) -> type[ChangeList]:
        """Return the list's class."""
        return UncountedList

    def has_add_permission(self, request: HttpRequest, *args: Any) -> bool:
        """Say that nobody may."""
        return False

    def has_change_permission(self, request: HttpRequest, obj: Any = None) -> bool:
        """Say that nobody may."""
        return False

    def has_delete_permission(self, request: HttpRequest, obj: Any = None) -> bool:
        """Say that nobody may."""
        return False

"""Pages of our own inside the Django admin: what all lists share, and a page that shows a row instead of a form."""

from datetime import datetime
from typing import TYPE_CHECKING, Any

from django.contrib import admin
from django.contrib.admin.utils import unquote
from django.contrib.admin.views.main import ChangeList
from django.core.exceptions import PermissionDenied, ValidationError
from django.db import connection
from django.db.models import Model, QuerySet
from django.db.models.functions import Now
from django.http import HttpRequest, HttpResponse
from django.template.response import TemplateResponse
from django.utils.decorators import method_decorator
from django.utils.text import capfirst
from django.views.decorators.http import require_safe

from project.kit.overtaking import looking_again

# Behind it nobody pages: a filter or a search is the way there.
LAST_PAGE = 10_000

if TYPE_CHECKING:
    AnyAdmin = admin.ModelAdmin[Any]
else:
    AnyAdmin = admin.ModelAdmin


def seen_at(row: Model) -> datetime:
    """Return the database's instant at which the row was read by an admin's queryset."""
    instant: datetime = vars(row)["seen_at"]
    return instant


class UncountedList(ChangeList):
    """A list that reads one row more than a page to know whether there is a next one, and counts nothing.

    Attributes:
        has_next: there are further rows behind this page.
    """

    uncounted = True
    has_next = False

    def get_queryset(self, request: HttpRequest, exclude_parameters: Any = None) -> QuerySet[Any]:
        """Return the rows of the list, with the columns that `for_list` adds."""
        self.bare_rows: QuerySet[Any] = super().get_queryset(request, exclude_parameters)
        return self._for_list(self.bare_rows)

    def get_results(self, request: HttpRequest) -> None:
        """Read the page's rows."""
        self.page_num = min(max(1, self.page_num), LAST_PAGE)
        rows = self._rows_from((self.page_num - 1) * self.list_per_page)
        self.has_next = len(rows) > self.list_per_page
        self.result_list = rows[: self.list_per_page]
        self.result_count = len(self.result_list)  # of the page: so that nobody is offered "select all"
        self.full_result_count = None
        self.can_show_all = self.multi_page = False
        self.show_admin_actions = bool(rows)

    def _rows_from(self, first: int) -> list[Any]:
        """Return the rows of the page, and the one behind it; for what is skipped, no more than its key is read."""
        end = first + self.list_per_page + 1
        if first == 0:
            return list(self.queryset[:end])
        keys = list(self.bare_rows.values_list("pk", flat=True)[first:end])
        return list(self.queryset.filter(pk__in=keys))

    def _for_list(self, rows: QuerySet[Any]) -> QuerySet[Any]:
        return self.model_admin.for_list(rows) if isinstance(self.model_admin, PanelAdmin) else rows

    @property
    def previous_page_query(self) -> str:
        """The query string of the page before."""
        return self.get_query_string({"p": self.page_num - 1})

    @property
    def next_page_query(self) -> str:
        """The query string of the page behind."""
        return self.get_query_string({"p": self.page_num + 1})


class PanelAdmin(AnyAdmin):
    """An admin whose rows know when they were read: relative times need no clock of their own, and no query more."""

    show_full_result_count = False
    list_per_page = 50
    list_max_show_all = 0

    def changelist_view(self, request: HttpRequest, extra_context: dict[str, Any] | None = None) -> HttpResponse:
        """Show the list, under the name of its rows."""
        title = capfirst(self.opts.verbose_name_plural)
        return super().changelist_view(request, {"title": title, "subtitle": None, **(extra_context or {})})

    def get_changelist(self, request: HttpRequest, **kwargs: Any) -> type[ChangeList]:
        """Return the list's class."""
        return UncountedList

    def get_queryset(self, request: HttpRequest) -> QuerySet[Any]:
        """Return the rows, each with `seen_at`."""
        rows: QuerySet[Any] = super().get_queryset(request).annotate(seen_at=Now())
        return rows

    def for_list(self, rows: QuerySet[Any]) -> QuerySet[Any]:
        """Return the list's rows with what its columns need beyond the row."""
        return rows

    @looking_again(ValidationError)
    def changeform_view(self, *args: Any, **kwargs: Any) -> HttpResponse:
        """Show the form, or save it; what was typed into it stays where somebody else was first."""
        return super().changeform_view(*args, **kwargs)

    @looking_again()
    def delete_view(self, *args: Any, **kwargs: Any) -> HttpResponse:
        """Ask whether the row is to be deleted, or delete it."""
        return super().delete_view(*args, **kwargs)

    def save_related(self, *args: Any) -> None:
        """Save what belongs to the row, and look whether all that it refers to is still there before that is told."""
        super().save_related(*args)
        connection.check_constraints()

    def delete_model(self, *args: Any) -> None:
        """Delete the row, and look whether anything refers to it by now before that is told."""
        super().delete_model(*args)
        connection.check_constraints()

    def get_actions(self, request: HttpRequest) -> dict[str, Any]:
        """Return the list's actions; rows are never deleted by the dozen."""
        actions = super().get_actions(request)
        actions.pop("delete_selected", None)
        return actions


class ObjectPageMixin(PanelAdmin):
    """Shows a row on a page of its own instead of a form.

    Attributes:
        page_template: the whole page; it includes the fragment.
        fragment_template: what `?fragment` alone answers with, for pages that refresh themselves.
    """

    page_template: str
    fragment_template: str

    def page_context(self, request: HttpRequest, row: Any) -> dict[str, Any]:
        """Return what the fragment shows of the row."""
        return {}

    @method_decorator(require_safe)
    def change_view(
        self, request: HttpRequest, object_id: str, form_url: str = "", extra_context: dict[str, Any] | None = None
    ) -> HttpResponse:
        """Show the row."""
        row = self.get_object(request, unquote(object_id))
        if not self.has_view_permission(request, row):
            raise PermissionDenied
        if row is None:
            return self._get_obj_does_not_exist_redirect(request, self.opts, object_id)  # type: ignore[attr-defined,no-any-return]
        context = {
            "original": row,
            "opts": self.opts,
            "fragment_template": self.fragment_template,
            **self.page_context(request, row),
        }
        if "fragment" in request.GET:
            return TemplateResponse(request, self.fragment_template, context)
        site = self.admin_site.each_context(request)
        return TemplateResponse(
            request,
            self.page_template,
            {**site, "title": str(row), "media": self.media, **context, **(extra_context or {})},
        )

"""A row with a page of its own, and its form at an address beside it."""

from typing import Any

from django.core.exceptions import PermissionDenied
from django.db.models import Model
from django.http import HttpRequest, HttpResponse, HttpResponseRedirect
from django.urls import URLPattern, path, reverse
from django.utils.translation import gettext as _

from project.kit.admin.locking import VersionLockMixin
from project.kit.admin.object_actions import ObjectActionsMixin
from project.kit.admin.pages import ObjectPageMixin
from project.kit.wall_clocks import zone_names


class EditedApartMixin(VersionLockMixin, ObjectActionsMixin, ObjectPageMixin):
    """Shows a row on its page, and edits it at `<its address>/edit/`; what was saved is shown on the page."""

    def get_urls(self) -> list[URLPattern]:
        """Return the admin's addresses, with that of the form before Django's catch-all."""
        edit = self.admin_site.admin_view(self.edit_view)
        return [path("<path:object_id>/edit/", edit, name=self._url_name("edit")), *super().get_urls()]

    def edit_links(self, request: HttpRequest, row: Model) -> list[dict[str, Any]]:
        """Return the button that leads to the row's form; none for somebody who may only look."""
        if not self.has_change_permission(request, row):
            return []
        return [{"label": _("Edit"), "tone": "", "url": reverse(f"admin:{self._url_name('edit')}", args=[row.pk])}]

    def edit_view(self, request: HttpRequest, object_id: str) -> HttpResponse:
        """Show the row's form, and save it."""
        if not self.has_change_permission(request):
            raise PermissionDenied
        return super(ObjectPageMixin, self).change_view(request, object_id)

    def response_post_save_add(self, request: HttpRequest, obj: Model) -> HttpResponseRedirect:
        """Show the page of the new row."""
        return HttpResponseRedirect(self._page_url(obj))

    def response_post_save_change(self, request: HttpRequest, obj: Model) -> HttpResponseRedirect:
        """Show the page of the changed row."""
        return HttpResponseRedirect(self._page_url(obj))

    def render_change_form(
        self, request: HttpRequest, context: dict[str, Any], *args: Any, **kwargs: Any
    ) -> HttpResponse:
        """Show the form, with the zones to choose from, under the row's stored name."""
        if context["original"] is not None:  # it carries what was typed
            context["original"] = self.get_queryset(request).get(pk=context["original"].pk)
        context |= {
            "show_save_and_add_another": False,
            "show_save_and_continue": False,
            "subtitle": None,
            "zones": sorted(zone_names()),
        }
        return super().render_change_form(request, context, *args, **kwargs)

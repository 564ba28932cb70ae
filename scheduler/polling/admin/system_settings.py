"""The settings of the polling as a whole: every one of them, whether somebody has set it or not."""

from datetime import datetime
from typing import Any

from django.contrib import admin
from django.core.exceptions import PermissionDenied
from django.http import HttpRequest, HttpResponse
from django.template.response import TemplateResponse
from django.utils.decorators import method_decorator
from django.utils.safestring import SafeString
from django.utils.text import capfirst
from django.utils.translation import gettext as _
from django.views.decorators.http import require_safe

from project.kit.admin import ObjectActionsMixin, ObjectPageMixin, badge, pretty_json, relative, row_link, seen_at, when
from project.kit.clock import database_now
from project.kit.versions import StaleVersion
from scheduler.polling import system_settings
from scheduler.polling.admin.setting_actions import SETTING_ACTIONS, shown
from scheduler.polling.models import SystemSetting


@admin.register(SystemSetting)
class SystemSettingAdmin(ObjectActionsMixin, ObjectPageMixin):
    """The settings."""

    page_template = "admin/object_page.html"
    fragment_template = "admin/polling/systemsetting/page.html"
    object_actions = SETTING_ACTIONS
    refusals = (StaleVersion,)

    # --- the list ----------------------------------------------------------------------------------------------

    @method_decorator(require_safe)
    def changelist_view(self, request: HttpRequest, extra_context: dict[str, Any] | None = None) -> HttpResponse:
        """Show every setting, with what holds and what it means."""
        if not self.has_view_permission(request):
            raise PermissionDenied
        now = database_now()
        rows = SystemSetting.objects.in_bulk()
        context = {
            **self.admin_site.each_context(request),
            "title": capfirst(self.opts.verbose_name_plural),
            "opts": self.opts,
            "lines": [_line(rows.get(key) or not_set(key), now) for key in system_settings.FIELDS],
        }
        return TemplateResponse(request, "admin/polling/systemsetting/list.html", context)

    # --- the page ----------------------------------------------------------------------------------------------

    def get_object(self, request: HttpRequest, object_id: str, from_field: str | None = None) -> SystemSetting | None:
        """Return a setting; one that nobody has set is of version 0 and holds its default."""
        if object_id not in system_settings.FIELDS:
            return None
        row = self.get_queryset(request).filter(pk=object_id).first() or not_set(object_id)
        vars(row).setdefault("seen_at", database_now())
        return row

    def page_context(self, request: HttpRequest, row: SystemSetting) -> dict[str, Any]:
        """Return what the page shows of a setting."""
        return {
            "setting": row,
            "actions": self.offered_actions(request, row),
            "badge": _mark(row),
            "description": system_settings.described(row.key),
            "value": shown(row.value),
            "facts": _facts(row, seen_at(row)),
            "schema": pretty_json(system_settings.schema(row.key)),
        }

    # --- who may -----------------------------------------------------------------------------------------------

    def has_add_permission(self, request: HttpRequest) -> bool:
        """Say that nobody may: which settings there are is said by the code."""
        return False

    def has_delete_permission(self, request: HttpRequest, obj: Any = None) -> bool:
        """Say that nobody may do so here: “Back to default” is an action."""
        return False

    # --- the actions -------------------------------------------------------------------------------------------

    def locked(self, request: HttpRequest, pk: Any) -> SystemSetting | None:
        """Return the setting as it is now, locked if there is a row."""
        return SystemSetting.objects.select_for_update().filter(pk=pk).first() or self.get_object(request, pk)


def not_set(key: str) -> SystemSetting:
    """Return a setting that nobody has set: it is of version 0 and holds its default."""
    return SystemSetting(key=key, value=system_settings.default(key), version=0)


def _line(row: SystemSetting, now: datetime) -> dict[str, Any]:
    return {
        "key": row_link(row),
        "description": system_settings.described(row.key),
        "value": shown(row.value),
        "mark": _mark(row),
        "default": shown(system_settings.default(row.key)),
        "set": _said(row, now),
    }


def _mark(row: SystemSetting) -> SafeString:
    return badge(_("set"), "blue") if row.version else badge(_("default"), "grey")


def _said(row: SystemSetting, now: datetime) -> str:
    if not row.version:
        return ""
    return _("by %(who)s, %(when)s") % {"who": row.changed_by or "–", "when": relative(row.changed_at, now)}


def _facts(row: SystemSetting, now: datetime) -> list[tuple[str, Any]]:
    """Return what is known of the setting, as labels and values."""
    facts: list[tuple[str, Any]] = [(_("default"), shown(system_settings.default(row.key)))]
    if row.version:
        facts += [(_("set by"), row.changed_by or "–"), (_("set"), when(row.changed_at, now))]
    return facts

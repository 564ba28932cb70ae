"""Object actions for several rows of a list at once: one confirmation, each row by itself, and a report."""

from collections.abc import Callable
from typing import Any

from django.contrib import messages
from django.core.exceptions import PermissionDenied, ValidationError
from django.db.models import QuerySet
from django.http import HttpRequest, HttpResponse, HttpResponseRedirect
from django.template.response import TemplateResponse
from django.urls import URLPattern, path, reverse
from django.utils.decorators import method_decorator
from django.utils.http import url_has_allowed_host_and_scheme
from django.utils.translation import gettext as _
from django.utils.translation import ngettext
from django.views.decorators.http import require_POST

from project.kit.admin.actions import ObjectAction, ReasonForm
from project.kit.admin.object_actions import ObjectActionsMixin, Refused
from project.kit.clock import database_now
from project.kit.overtaking import looking_again

# More rows than this are a job of their own, not a click.
ROWS_AT_ONCE = 200
# How many of the rows that were skipped are named in the report.
SKIPPED_NAMED = 10


class BulkActionsMixin(ObjectActionsMixin):
    """Offers those object actions that allow it for the selected rows of the list."""

    def get_actions(self, request: HttpRequest) -> dict[str, Any]:
        """Return the list's actions: those that this user may perform on several rows."""
        actions = super().get_actions(request)
        for action in self.object_actions:
            if action.bulk and action.allowed(request.user):
                actions[action.name] = (_asks_for(action), action.name, str(action.label))
        return actions

    def get_urls(self) -> list[URLPattern]:
        """Return the admin's addresses, with the one that a confirmed list posts to."""
        view = self.admin_site.admin_view(self.bulk_action_view)
        return [path("do/<slug:action_name>/", view, name=self._url_name("bulk_action")), *super().get_urls()]

    def ask_for_selected(
        self, request: HttpRequest, action: ObjectAction, rows: QuerySet[Any], form: ReasonForm | None = None
    ) -> HttpResponse | None:
        """Show what the action will do with each selected row."""
        selected = list(rows[: ROWS_AT_ONCE + 1])
        if len(selected) > ROWS_AT_ONCE:
            too_many = _("At most %(count)s at once. Narrow the list and select fewer.") % {"count": ROWS_AT_ONCE}
            self.message_user(request, too_many, messages.WARNING)
            return None
        lines = [{"row": row, "seen": self.seen(row), "obstacle": action.obstacle(row)} for row in selected]
        context = {
            **self.admin_site.each_context(request),
            "title": action.label,
            "action": action,
            "opts": self.opts,
            "lines": lines,
            "possible": sum(not line["obstacle"] for line in lines),
            "form": form or action.form(None, row=None, now=database_now()),
            "post_to": reverse(f"admin:{self._url_name('bulk_action')}", args=[action.name]),
            "back": request.POST.get("back") or request.get_full_path(),
            "media": self.media,
        }
        return TemplateResponse(request, "admin/confirm_bulk_action.html", context)

    @method_decorator(require_POST)
    def bulk_action_view(self, request: HttpRequest, action_name: str) -> HttpResponse:
        """Perform the confirmed action on each row by itself, and report what was done and what was skipped."""
        action = self.allowed_action(request, action_name)
        if not action.bulk or not self.has_view_permission(request):
            raise PermissionDenied
        keys = [key for key in request.POST.getlist("row")[:ROWS_AT_ONCE] if self._is_key(key)]
        form = action.form(request.POST, row=None, now=database_now())
        if not form.is_valid():
            again = self.ask_for_selected(request, action, self.get_queryset(request).filter(pk__in=keys), form)
            return again or HttpResponseRedirect(self._list_url(request))
        skipped = [why for key in keys if (why := self._skip_reason(request, action, key, form))]
        self._report(request, action, len(keys) - len(skipped), skipped)
        return HttpResponseRedirect(self._list_url(request))

    def _is_key(self, key: str) -> bool:
        try:
            self.opts.pk.to_python(key)
        except ValidationError:
            return False
        return True

    @looking_again()
    def _skip_reason(self, request: HttpRequest, action: ObjectAction, key: str, form: ReasonForm) -> str:
        """Perform the action on one row; return why it was skipped, or nothing."""
        try:
            self.perform(request, action, key, request.POST.get(f"seen-{key}", ""), form)
        except Refused as refusal:
            return f"#{key}: {refusal}"
        return ""

    def _report(self, request: HttpRequest, action: ObjectAction, done: int, skipped: list[str]) -> None:
        if done:
            text = ngettext("%(action)s: done for %(count)s.", "%(action)s: done for %(count)s.", done)
            self.message_user(request, text % {"action": action.label, "count": done}, messages.SUCCESS)
        if skipped:
            named = " ".join(skipped[:SKIPPED_NAMED]) + (" …" if len(skipped) > SKIPPED_NAMED else "")
            text = _("%(action)s: skipped %(count)s. %(named)s")
            values = {"action": action.label, "count": len(skipped), "named": named}
            self.message_user(request, text % values, messages.WARNING)

    def _list_url(self, request: HttpRequest) -> str:
        back = request.POST.get("back", "")
        if url_has_allowed_host_and_scheme(back, allowed_hosts={request.get_host()}, require_https=request.is_secure()):
            return back
        return reverse(f"admin:{self._url_name('changelist')}")


def _asks_for(action: ObjectAction) -> Callable[[Any, HttpRequest, QuerySet[Any]], HttpResponse | None]:
    def ask(model_admin: Any, request: HttpRequest, rows: QuerySet[Any]) -> HttpResponse | None:
        answer: HttpResponse | None = model_admin.ask_for_selected(request, action, rows)
        return answer

    return ask

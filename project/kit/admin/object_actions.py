"""Serves the object actions: GET asks for confirmation and changes nothing, POST acts.

A confirmation is bound to what was seen: it posts the row's state along, and a row that changed meanwhile is shown
again instead of acted on. The row is locked while it is looked at and acted on.
"""

from collections.abc import Sequence
from typing import Any

from django.contrib import messages
from django.contrib.admin.utils import unquote
from django.core.exceptions import PermissionDenied, ValidationError
from django.db import transaction
from django.db.models import Model
from django.http import Http404, HttpRequest, HttpResponse, HttpResponseRedirect
from django.template.response import TemplateResponse
from django.urls import URLPattern, path, reverse
from django.utils.decorators import method_decorator
from django.utils.translation import gettext as _
from django.views.decorators.http import require_http_methods

from project.kit.admin.actions import Asked, Done, ObjectAction, ReasonForm
from project.kit.admin.pages import PanelAdmin, seen_at
from project.kit.audit import with_token
from project.kit.clock import database_now
from project.kit.overtaking import looking_again


class Refused(Exception):
    """The action was not performed; the message says why."""


class SeenOtherwise(Refused):
    """The row is not any more what the person saw when confirming."""


class ObjectActionsMixin(PanelAdmin):
    """Offers the `object_actions` on a row's page.

    Attributes:
        refusals: the domain's exceptions that mean "not possible"; their text is shown to the person.
    """

    object_actions: Sequence[ObjectAction] = ()
    refusals: tuple[type[Exception], ...] = ()

    def seen(self, row: Any) -> str:
        """Return what a confirmation is bound to: it changes when the row is no longer what was confirmed."""
        return str(getattr(row, "version", ""))

    def offered_actions(self, request: HttpRequest, row: Model) -> list[dict[str, Any]]:
        """Return the buttons for a row: those actions that are possible with it now and allowed to this user."""
        return [
            {"name": action.name, "label": action.label, "tone": action.tone, "url": self._action_url(row.pk, action)}
            for action in self.object_actions
            if action.allowed(request.user) and action.available(row)
        ]

    def get_urls(self) -> list[URLPattern]:
        """Return the admin's addresses, the actions' before Django's catch-all."""
        view = self.admin_site.admin_view(self.action_view)
        return [
            path("<path:object_id>/do/<slug:action_name>/", view, name=self._url_name("action")),
            *super().get_urls(),
        ]

    @method_decorator(require_http_methods(["GET", "HEAD", "POST"]))
    @looking_again()
    def action_view(self, request: HttpRequest, object_id: str, action_name: str) -> HttpResponse:
        """Ask for confirmation, or perform the confirmed action."""
        action = self.allowed_action(request, action_name)
        row = self.get_object(request, unquote(object_id))
        if row is None:
            raise Http404
        if not self.has_view_permission(request, row):
            raise PermissionDenied
        if obstacle := action.obstacle(row):
            return self._refuse(request, row, str(obstacle))
        form = action.form(request.POST or None, row=row, now=seen_at(row))
        if request.method != "POST" or not form.is_valid():
            return self._ask(request, action, row, form)
        return self._act(request, action, row, form)

    def allowed_action(self, request: HttpRequest, name: str) -> ObjectAction:
        """Return the action of that name.

        Raises:
            Http404: there is none.
            PermissionDenied: the user may not perform it.
        """
        for action in self.object_actions:
            if action.name == name:
                if not action.allowed(request.user):
                    raise PermissionDenied
                return action
        raise Http404

    def perform(self, request: HttpRequest, action: ObjectAction, pk: Any, seen: str, form: ReasonForm) -> Done:
        """Perform the action on the locked row, and write it to the audit log, in one transaction.

        Raises:
            SeenOtherwise: the row is not what was confirmed.
            Refused: it is not possible; nothing was written.
        """
        with transaction.atomic():
            row = self.locked(request, pk)
            if row is None:
                raise Refused(_("It does not exist any more."))
            if obstacle := action.obstacle(row):
                raise Refused(str(obstacle))
            if self.seen(row) != seen:
                raise SeenOtherwise(_("It changed while you were looking at it."))
            reason = form.cleaned_data["reason"]
            asked = Asked(database_now(), request.user.get_username(), reason, form.cleaned_data)
            try:
                done = action.perform(row, asked)
            except ValidationError as refusal:
                raise Refused(" ".join(refusal.messages)) from refusal
            except self.refusals as refusal:
                raise Refused(str(refusal)) from refusal
            words = f"{action.label}: {reason}" if reason else str(action.label)
            self.log_change(request, row, with_token(words, request))
        return done

    def locked(self, request: HttpRequest, pk: Any) -> Any:
        """Return the row as it is now, locked; None: it is gone."""
        return self.get_queryset(request).select_for_update(of=("self",)).filter(pk=pk).first()

    # --- the steps of one action -------------------------------------------------------------------------------

    def _act(self, request: HttpRequest, action: ObjectAction, row: Any, form: ReasonForm) -> HttpResponse:
        try:
            done = self.perform(request, action, row.pk, request.POST.get("seen", ""), form)
        except SeenOtherwise as refusal:
            fresh = self.get_object(request, str(row.pk))
            return self._ask(request, action, fresh or row, form, changed=str(refusal), status=409)
        except Refused as refusal:
            return self._refuse(request, row, str(refusal))
        self.message_user(request, done.message, messages.SUCCESS)
        if done.gone:
            return HttpResponseRedirect(reverse(f"admin:{self._url_name('changelist')}"))
        return HttpResponseRedirect(self._page_url(done.show or row))

    def _ask(
        self,
        request: HttpRequest,
        action: ObjectAction,
        row: Any,
        form: ReasonForm,
        *,
        changed: str = "",
        status: int = 200,
    ) -> HttpResponse:
        context = {
            **self.admin_site.each_context(request),
            "title": action.label,
            "action": action,
            "original": row,
            "opts": self.opts,
            "consequences": action.consequences(row, seen_at(row)),
            "form": form,
            "seen": self.seen(row),
            "changed": changed,
            "back": self._page_url(row),
            "media": self.media + form.media,
        }
        return TemplateResponse(request, "admin/confirm_action.html", context, status=status)

    def _refuse(self, request: HttpRequest, row: Model, why: str) -> HttpResponse:
        self.message_user(request, why, messages.WARNING)
        return HttpResponseRedirect(self._page_url(row))

    def _page_url(self, row: Model) -> str:
        meta = row._meta
        return reverse(f"admin:{meta.app_label}_{meta.model_name}_change", args=[row.pk])

    def _action_url(self, pk: Any, action: ObjectAction) -> str:
        return reverse(f"admin:{self._url_name('action')}", args=[pk, action.name])

    def _url_name(self, view: str) -> str:
        return f"{self.opts.app_label}_{self.opts.model_name}_{view}"

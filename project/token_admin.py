"""API tokens: made here and shown once, listed, and revoked."""

from collections.abc import Iterable
from datetime import datetime, timedelta
from typing import Any

from django import forms
from django.contrib import admin
from django.contrib.auth.models import Permission
from django.core.exceptions import ValidationError
from django.db.models import QuerySet, Value
from django.db.models.functions import Concat
from django.http import HttpRequest, HttpResponse
from django.template.response import TemplateResponse
from django.utils.safestring import SafeString
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy

from alerts.admin.fields import InstantField
from project.kit.admin import (
    Asked,
    Done,
    ObjectAction,
    ObjectActionsMixin,
    ObjectPageMixin,
    absolute,
    badge,
    seen_at,
    when,
)
from project.kit.api import scopes, tokens
from project.kit.api.models import ApiToken
from project.kit.clock import database_now

USUAL_LIFE = timedelta(days=90)


class TokenForm(forms.ModelForm):  # type: ignore[type-arg]
    """A token that is to be made."""

    scopes = forms.CharField(
        label=gettext_lazy("Scopes"),
        initial=scopes.READ,
        widget=forms.TextInput(attrs={"size": 60, "autocomplete": "off", "spellcheck": "false"}),
        help_text=gettext_lazy(
            "What it may do of what its user may: read (look at everything), write (everything), or single permissions "
            "with spaces between, as in alerts.handle_alert."
        ),
    )
    expires_at = InstantField(label=gettext_lazy("Expires"), help_text=gettext_lazy("By your clocks."))

    class Meta:
        model = ApiToken
        fields = ("name", "user", "scopes", "expires_at")

    def clean_scopes(self) -> list[str]:
        """Return the scopes.

        Raises:
            ValidationError: one of them is not known.
        """
        return check_scopes(self.cleaned_data["scopes"].replace(",", " ").split())

    def clean_expires_at(self) -> datetime:
        """Return when it expires.

        Raises:
            ValidationError: that is past.
        """
        return check_expiry(self.cleaned_data["expires_at"], database_now())


def check_scopes(said: Iterable[str]) -> list[str]:
    """Return the scopes in order, each once.

    Raises:
        ValidationError: one of them is not known.
    """
    wanted = sorted(set(said))
    names = Permission.objects.annotate(name_of_it=Concat("content_type__app_label", Value("."), "codename"))
    if unknown := scopes.unknown(wanted, set(names.values_list("name_of_it", flat=True))):
        sentence = _("“%(scope)s” is not known. Write read, write, or permissions as in alerts.handle_alert.")
        raise ValidationError(sentence % {"scope": unknown[0]})
    return wanted


def check_expiry(expires_at: datetime, now: datetime) -> datetime:
    """Return when a token is to expire.

    Raises:
        ValidationError: that is past.
    """
    if expires_at <= now:
        raise ValidationError(_("This is past. Choose a later time."))
    return expires_at


def _revoke_obstacle(token: ApiToken) -> str:
    return _("It is revoked already.") if token.revoked_at else ""


def _revoke_consequences(token: ApiToken, now: datetime) -> list[str]:
    used = absolute(token.last_used_at) if token.last_used_at else _("never")
    return [
        _("From now on it lets nobody in. That cannot be undone; another token can be made."),
        _("Last used: %(when)s.") % {"when": used},
    ]


def _revoke(token: ApiToken, asked: Asked) -> Done:
    tokens.revoke(token.pk, asked.now)
    return Done(_("“%(name)s” is revoked.") % {"name": token.name})


REVOKE = ObjectAction(
    name="revoke",
    label=gettext_lazy("Revoke"),
    permission="project.change_apitoken",
    obstacle=_revoke_obstacle,
    consequences=_revoke_consequences,
    perform=_revoke,
    tone="danger",
)


@admin.register(ApiToken)
class ApiTokenAdmin(ObjectActionsMixin, ObjectPageMixin):
    """The tokens: everybody's for a superuser, one's own for others."""

    list_display = ("name", "standing", "user", "prefix", "may", "ends", "used")
    list_select_related = ("user",)
    ordering = ("-id",)
    sortable_by = ()
    form = TokenForm
    object_actions = (REVOKE,)
    page_template = "admin/object_page.html"
    fragment_template = "admin/project/apitoken/page.html"

    def get_queryset(self, request: HttpRequest) -> QuerySet[ApiToken]:
        """Return the tokens that the person may see."""
        rows: QuerySet[ApiToken] = super().get_queryset(request).select_related("user")
        return rows if _is_superuser(request) else rows.filter(user_id=_user_id(request))

    def has_delete_permission(self, request: HttpRequest, obj: Any = None) -> bool:
        """Say that nobody may: a token is revoked, and what it did stays known by its name."""
        return False

    # --- the list and the page -------------------------------------------------------------------------------------

    @admin.display(description=gettext_lazy("state"))
    def standing(self, token: ApiToken) -> SafeString:
        """Whether it lets anybody in."""
        return _standing(token, seen_at(token))

    @admin.display(description=gettext_lazy("scopes"))
    def may(self, token: ApiToken) -> str:
        """What it may do."""
        return ", ".join(token.scopes)

    @admin.display(description=gettext_lazy("expires"))
    def ends(self, token: ApiToken) -> SafeString:
        """When it expires."""
        return when(token.expires_at, seen_at(token))

    @admin.display(description=gettext_lazy("last used"))
    def used(self, token: ApiToken) -> SafeString:
        """When it was last used."""
        return when(token.last_used_at, seen_at(token))

    def page_context(self, request: HttpRequest, row: ApiToken) -> dict[str, Any]:
        """Return what the page shows of a token."""
        now = seen_at(row)
        facts = [
            (_("acts as"), row.user),
            (_("begins with"), f"{row.prefix}…"),
            (_("scopes"), ", ".join(row.scopes)),
            (_("made"), when(row.created_at, now)),
            (_("expires"), when(row.expires_at, now)),
            (_("last used"), when(row.last_used_at, now)),
        ]
        return {
            "token": row,
            "badge": _standing(row, now),
            "facts": facts,
            "actions": self.offered_actions(request, row),
        }

    # --- making one ------------------------------------------------------------------------------------------------

    def get_fields(self, request: HttpRequest, obj: Any = None) -> tuple[str, ...]:
        """Return the form's fields; only a superuser makes tokens for others."""
        return tuple(name for name in TokenForm.Meta.fields if name != "user" or _is_superuser(request))

    def get_changeform_initial_data(self, request: HttpRequest) -> dict[str, Any]:
        """Return a token of the person's own."""
        initial = {"user": request.user.pk, "expires_at": database_now() + USUAL_LIFE}
        return {**initial, **super().get_changeform_initial_data(request)}

    def render_change_form(
        self, request: HttpRequest, context: dict[str, Any], *args: Any, **kwargs: Any
    ) -> HttpResponse:
        """Show the form with one way to save it: any other would pass by the page that shows the token."""
        context |= {"show_save_and_add_another": False, "show_save_and_continue": False}
        return super().render_change_form(request, context, *args, **kwargs)

    def save_model(self, request: HttpRequest, obj: ApiToken, form: Any, change: bool) -> None:
        """Make the token; its text is kept for the answer to this request alone."""
        if not _is_superuser(request):
            obj.user_id = _user_id(request)
        vars(obj)["text"] = tokens.issue(obj, now=database_now())

    def response_add(self, request: HttpRequest, obj: ApiToken, post_url_continue: str | None = None) -> HttpResponse:
        """Show the token, once."""
        context = {
            **self.admin_site.each_context(request),
            "title": obj.name,
            "original": obj,
            "opts": self.opts,
            "text": vars(obj)["text"],
            "back": self._page_url(obj),
        }
        return TemplateResponse(request, "admin/project/apitoken/made.html", context)


def _user_id(request: HttpRequest) -> int:
    return int(request.user.pk or 0)  # nobody gets here unknown


def _is_superuser(request: HttpRequest) -> bool:
    return request.user.is_active and request.user.is_superuser


def _standing(token: ApiToken, now: datetime) -> SafeString:
    if token.revoked_at:
        return badge(_("revoked"), "grey")
    return badge(_("good"), "green") if token.expires_at > now else badge(_("expired"), "grey")

"""The form of an account's polling parameters. They have no list of their own: the account's page shows them."""

from datetime import datetime
from typing import Any

from django import forms
from django.contrib import admin
from django.core.exceptions import PermissionDenied, ValidationError
from django.db.models import Model
from django.http import HttpRequest, HttpResponse, HttpResponseRedirect
from django.urls import reverse
from django.utils.text import capfirst
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy

from project.kit.admin import VersionLockedForm, VersionLockMixin
from project.kit.clock import database_now
from scheduler.polling import accounts, defining
from scheduler.polling.admin import cells
from scheduler.polling.admin.json_fields import JsonField
from scheduler.polling.models import CarrierAccount, PollingParams

FIELDSETS: Any = (
    (
        gettext_lazy("How often the carrier is asked"),
        {
            "fields": ("rate_windows", "max_concurrency"),
            "description": gettext_lazy("Empty: the usual, which stands below each field."),
        },
    ),
    (
        gettext_lazy("How many cards are in work"),
        {"fields": ("inflight_limit", "card_max_in_flight", "priority_max_ratio", "queue")},
    ),
    (
        gettext_lazy("Stopping and resuming cards"),
        {
            "fields": (
                "sr_inflight_limit",
                "stop_resume_max_in_flight",
                "stop_resume_min_interval",
                "stop_resume_confirm_delay",
            )
        },
    ),
)


class ParamsForm(VersionLockedForm):
    """An account's parameters, also where nobody has set any yet: their version is 0 then."""

    rate_windows = JsonField(
        label=gettext_lazy("Rate windows"),
        required=False,
        help_text=PollingParams._meta.get_field("rate_windows").help_text,
    )

    class Meta:
        model = PollingParams
        fields = defining.PARAMS_FIELDS
        widgets = {
            "queue": forms.TextInput(attrs={"class": "code", "size": 30, "spellcheck": "false"}),
        }

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        usual = accounts.params_of(CarrierAccount(gateway=self.instance.account.gateway))
        for name, field in self.fields.items():
            if name in defining.PARAMS_FIELDS:
                shown = cells.rate(usual.rate_windows) if name == "rate_windows" else getattr(usual, name)
                said = _("Usual: %(value)s.") % {"value": _("unlimited") if shown is None else shown}
                field.help_text = f"{capfirst(str(field.help_text))}. {said}"

    def locked_row(self) -> PollingParams:
        """Return the parameters as they are now, locked with their account: there may be none yet."""
        account = CarrierAccount.objects.select_for_update(no_key=True).get(pk=self.instance.pk)
        return params_of(account)

    def store(self, params: PollingParams, *, now: datetime, actor: str) -> None:
        """Write parameters that hold what was typed over the version that the form was opened with."""
        expected = self.cleaned_data["expected_version"]
        defining.save_params(params, expected_version=expected, now=now, actor=actor)

    def _post_clean(self) -> None:
        """Let the domain look at what was typed; the account is locked by now."""
        super()._post_clean()
        try:
            defining.check_params(self.instance)
        except ValidationError as refusal:
            self.add_refusals(refusal)


@admin.register(PollingParams)
class PollingParamsAdmin(VersionLockMixin):
    """The parameters, account by account."""

    form = ParamsForm
    fieldsets = FIELDSETS
    change_form_template = "admin/polling/pollingparams/change_form.html"

    def get_object(self, request: HttpRequest, object_id: str, from_field: str | None = None) -> PollingParams | None:
        """Return the account's parameters; those that nobody has set are of version 0."""
        found = CarrierAccount.objects.filter(pk=object_id) if object_id.isdecimal() else CarrierAccount.objects.none()
        account = found.select_related("params").first()
        return None if account is None else params_of(account)

    def save_model(self, request: HttpRequest, obj: PollingParams, form: ParamsForm, change: bool) -> None:
        """Save through the domain, which raises the version."""
        form.store(obj, now=database_now(), actor=request.user.get_username())

    def changelist_view(self, request: HttpRequest, extra_context: dict[str, Any] | None = None) -> HttpResponse:
        """Show the accounts: what they bear stands there."""
        if not self.has_view_permission(request):
            raise PermissionDenied
        return HttpResponseRedirect(reverse("admin:polling_carrieraccount_changelist"))

    def response_post_save_change(self, request: HttpRequest, obj: Model) -> HttpResponseRedirect:
        """Show the page of the account."""
        return HttpResponseRedirect(reverse("admin:polling_carrieraccount_change", args=[obj.pk]))

    def render_change_form(
        self, request: HttpRequest, context: dict[str, Any], *args: Any, **kwargs: Any
    ) -> HttpResponse:
        """Show the form, which is saved or left."""
        context |= {"show_save_and_add_another": False, "show_save_and_continue": False, "subtitle": None}
        return super().render_change_form(request, context, *args, **kwargs)

    def has_module_permission(self, request: HttpRequest) -> bool:
        """Leave them out of the navigation."""
        return False

    def has_add_permission(self, request: HttpRequest) -> bool:
        """Say that nobody may: every account has its form already."""
        return False

    def has_delete_permission(self, request: HttpRequest, obj: Any = None) -> bool:
        """Say that nobody may do so here: it is an action of the account."""
        return False


def params_of(account: CarrierAccount) -> PollingParams:
    """Return the row of an account's parameters; a new one of version 0 where nobody has set any."""
    said: PollingParams | None = PollingParams.objects.filter(pk=account.pk).select_related("account").first()
    return said or PollingParams(account=account, version=0)

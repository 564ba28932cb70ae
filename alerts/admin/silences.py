"""Silences: of what nobody is told for a while, and why."""

from datetime import datetime, timedelta
from typing import Any

from django import forms
from django.contrib import admin
from django.http import HttpRequest
from django.utils.safestring import SafeString
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy

from alerts.admin import cells
from alerts.admin.fields import InstantField, LabelsField
from alerts.admin.filters import SilenceQuestionFilter
from alerts.kinds import KINDS, kind_label
from alerts.models import Silence
from project.kit.admin import VersionLockedForm, VersionLockMixin, badge, seen_at, when
from project.kit.clock import database_now

USUAL_LENGTH = timedelta(hours=4)


class SilenceForm(VersionLockedForm):
    """A silence."""

    labels = LabelsField(
        label=gettext_lazy("Labels"),
        required=False,
        help_text=gettext_lazy('An alert has to have all of them, as in {"name": "nightly"}. Empty: any.'),
    )
    starts_at = InstantField(label=gettext_lazy("From"), help_text=gettext_lazy("By your clocks."))
    ends_at = InstantField(label=gettext_lazy("Until"))

    class Meta:
        model = Silence
        fields = ("kind", "labels", "starts_at", "ends_at", "reason")
        widgets = {
            "kind": forms.TextInput(attrs={"list": "kinds", "size": 30, "autocomplete": "off"}),
            "reason": forms.TextInput(attrs={"size": 60}),
        }

    def clean(self) -> dict[str, Any]:
        """Refuse a silence that ends before it begins."""
        cleaned: dict[str, Any] = super().clean() or self.cleaned_data
        starts_at, ends_at = cleaned.get("starts_at"), cleaned.get("ends_at")
        if starts_at and ends_at and ends_at <= starts_at:
            self.add_error("ends_at", _("“Until” is not after “From”. Choose a later end."))
        return cleaned


@admin.register(Silence)
class SilenceAdmin(VersionLockMixin):
    """The silences."""

    list_display = ("reason", "standing", "what", "with_labels", "begins", "ends", "created_by")
    list_filter = (SilenceQuestionFilter,)
    search_fields = ("reason", "=kind")
    search_help_text = gettext_lazy("reason, or a kind")
    ordering = ("-ends_at",)
    sortable_by = ()
    form = SilenceForm
    change_form_template = "admin/alerts/silence/change_form.html"

    def get_changeform_initial_data(self, request: HttpRequest) -> dict[str, Any]:
        """Return a silence that begins now."""
        now = database_now()
        return {"starts_at": now, "ends_at": now + USUAL_LENGTH, **super().get_changeform_initial_data(request)}

    def save_model(self, request: HttpRequest, obj: Silence, form: Any, change: bool) -> None:
        """Save it, with who made it."""
        if not change:
            obj.created_by = request.user.get_username()
        super().save_model(request, obj, form, change)

    def render_change_form(self, request: HttpRequest, context: dict[str, Any], *args: Any, **kwargs: Any) -> Any:
        """Show the form, with the kinds to choose from and one way to save."""
        ours = {"kinds": KINDS.items(), "show_save_and_add_another": False, "show_save_and_continue": False}
        return super().render_change_form(request, {**context, **ours}, *args, **kwargs)

    @admin.display(description=gettext_lazy("state"))
    def standing(self, silence: Silence) -> SafeString:
        """Whether it holds now."""
        return _standing(silence, seen_at(silence))

    @admin.display(description=gettext_lazy("kind"))
    def what(self, silence: Silence) -> str:
        """Which kind it covers."""
        return kind_label(silence.kind) if silence.kind else _("every kind")

    @admin.display(description=gettext_lazy("labels"))
    def with_labels(self, silence: Silence) -> SafeString:
        """Which labels an alert has to have."""
        return cells.labels(silence.labels)

    @admin.display(description=gettext_lazy("from"))
    def begins(self, silence: Silence) -> SafeString:
        """When it begins."""
        return when(silence.starts_at, seen_at(silence))

    @admin.display(description=gettext_lazy("until"))
    def ends(self, silence: Silence) -> SafeString:
        """When it ends."""
        return when(silence.ends_at, seen_at(silence))


def _standing(silence: Silence, now: datetime) -> SafeString:
    if silence.ends_at <= now:
        return badge(_("over"), "grey")
    return badge(_("in force"), "violet") if silence.starts_at <= now else badge(_("to come"), "blue")

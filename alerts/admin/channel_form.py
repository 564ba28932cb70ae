"""The form of a channel. The domain decides what is right; the form puts each of its sentences on the right field.

The address and the signing secrets are secrets: what is stored never stands in the form, and a field that is left
empty leaves it as it was.
"""

from dataclasses import replace
from datetime import datetime
from typing import Any

from django import forms
from django.core.exceptions import ValidationError
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy

from alerts import defining
from alerts.admin.fields import KindsField, LabelsField
from alerts.channels.registry import FORMATS
from alerts.models import Channel
from project.kit.admin import VersionLockedForm
from project.kit.secrets import DOTS, Secret
from project.kit.sentences import together

# Whether it is on is changed by its own actions.
SHOWN_FIELDS = tuple(name for name in defining.EDITABLE_FIELDS if name != "enabled")

FIELDSETS: Any = (
    (gettext_lazy("Where"), {"fields": ("name", "address", "format", "secrets", "forget_secrets", "keyword")}),
    (gettext_lazy("What it is told"), {"fields": ("kinds", "least_severity", "labels")}),
    (
        gettext_lazy("When"),
        {"fields": ("repeat_hours", "quiet_from", "quiet_until", "timezone", "retry_ambiguous")},
    ),
)


class ChannelForm(VersionLockedForm):
    """A channel."""

    address = forms.CharField(
        label=gettext_lazy("Address"),
        required=False,
        max_length=2000,
        error_messages={"required": gettext_lazy("Write the address: a webhook's, or an e-mail address.")},
        widget=forms.TextInput(attrs={"size": 60, "autocomplete": "off", "spellcheck": "false"}),
    )
    format = forms.ChoiceField(
        label=gettext_lazy("Format"),
        required=False,
        choices=[("", gettext_lazy("by the address")), *((each.name, each.label) for each in FORMATS.values())],
    )
    secrets = forms.CharField(
        label=gettext_lazy("Signing secrets"),
        required=False,
        widget=forms.Textarea(attrs={"rows": 2, "class": "code", "autocomplete": "off", "spellcheck": "false"}),
    )
    forget_secrets = forms.BooleanField(label=gettext_lazy("Remove the stored signing secrets"), required=False)
    kinds = KindsField(
        label=gettext_lazy("Kinds"),
        required=False,
        help_text=gettext_lazy(
            "None chosen: every problem, and no notice. A notice is told only where it is chosen, whatever the severity"
            " below says; where problems are wanted too, choose them as well."
        ),
    )
    labels = LabelsField(
        label=gettext_lazy("Labels"),
        required=False,
        help_text=gettext_lazy('Only what has all of these, as in {"name": "nightly"}. Empty: all.'),
    )

    class Meta:
        model = Channel
        fields = SHOWN_FIELDS
        error_messages = {"name": {"unique": gettext_lazy("There is a channel of this name already. Choose another.")}}
        widgets = {
            "keyword": forms.TextInput(attrs={"size": 30}),
            "timezone": forms.TextInput(attrs={"list": "zones", "size": 30, "autocomplete": "off"}),
            **{name: forms.TimeInput(format="%H:%M", attrs={"type": "time"}) for name in ("quiet_from", "quiet_until")},
        }

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        instance = kwargs.get("instance")
        initial = {**(self.initial_values(instance) if instance else {}), **(kwargs.pop("initial", None) or {})}
        super().__init__(*args, initial=initial, **kwargs)
        for name in defining.SECRET_FIELDS & self.fields.keys():  # none of them for somebody who may only look
            self.fields[name].help_text = _help_of(name, instance)
        if "address" in self.fields:
            self.fields["address"].required = not self.instance.pk
        if "forget_secrets" in self.fields and not (instance and instance.secrets):
            self.fields["forget_secrets"].widget = forms.HiddenInput()

    def initial_values(self, instance: Channel) -> dict[str, Any]:
        """Return the values with which the form shows the channel, without its secrets."""
        values = {name: Channel._meta.get_field(name).value_from_object(instance) for name in SHOWN_FIELDS}  # type: ignore[union-attr]
        return values | dict.fromkeys(defining.SECRET_FIELDS, "")

    def clean_address(self) -> Secret:
        """Keep the stored address where none was typed."""
        if typed := self.cleaned_data["address"]:
            return Secret.of(typed)
        stored: Secret = self.instance.address
        return stored

    def clean_secrets(self) -> Secret:
        """Keep the stored secrets where none were typed."""
        typed = self.cleaned_data["secrets"]
        return Secret.of(typed) if typed or not self.instance.pk else defining.as_secret(self.instance.secrets)

    def clean(self) -> dict[str, Any]:
        """Take the stored secrets away where that was asked for."""
        cleaned: dict[str, Any] = super().clean() or self.cleaned_data
        if cleaned.get("forget_secrets"):
            if self.data.get(self.add_prefix("secrets")):
                self.add_error("secrets", _("Write new secrets, or tick that the stored ones are removed; not both."))
            cleaned["secrets"] = Secret.of("")
        return cleaned

    def store(self, channel: Channel, *, now: datetime) -> None:
        """Write a channel that holds what was typed, as new or over the version that the form was opened with."""
        if channel.pk is None:
            defining.save_new(channel, now=now)
        else:
            defining.save_changes(channel, expected_version=self.cleaned_data["expected_version"], now=now)

    def _get_validation_exclusions(self) -> set[str]:
        """Leave the constraints on hours to the domain, whose sentences name the fields."""
        return {*super()._get_validation_exclusions(), "quiet_from", "repeat_hours"}  # type: ignore[misc]

    def _post_clean(self) -> None:
        """Let the domain look at what was typed; the row is locked by now, if there is one."""
        super()._post_clean()
        current = Channel.objects.get(pk=self.instance.pk) if self.instance.pk else None
        try:
            defining.check(self.instance, current)
        except ValidationError as refusal:
            self.add_refusals(refusal)

    def _typed(self, name: str) -> str:
        """Return what was typed; the kinds are posted by several fields."""
        if name == "kinds":
            return str(self.fields[name].widget.value_from_datadict(self.data, self.files, self.add_prefix(name)))
        return super()._typed(name)

    def _merge(self, current: Any) -> None:
        """Note the differences, without showing in them what was typed as a secret."""
        super()._merge(current)
        hidden = {str(self.fields[name].label) for name in defining.SECRET_FIELDS}
        self.differences = [
            replace(difference, typed=DOTS) if str(difference.label) in hidden else difference
            for difference in self.differences
        ]


def _help_of(name: str, instance: Channel | None) -> str:
    what = {
        "address": _("A webhook's or an e-mail address. It is kept like a secret and never shown again."),
        "secrets": _("One a line, the present one first. They are never shown again."),
    }[name]
    if instance is None or not instance.pk:
        return what
    stored = _("One is stored.") if getattr(instance, name) else _("None is stored.")
    return together(what, stored, _("Left empty, that stays as it is."))

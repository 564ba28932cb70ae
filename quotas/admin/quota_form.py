"""The form of a quota. The domain decides what is right; the form puts each of its sentences on the right field.

The limit is typed when a quota is added. Later it changes by actions, which ask why and write that into the ledger.
"""

from datetime import datetime
from typing import Any

from django import forms
from django.core.exceptions import ValidationError
from django.utils.translation import gettext_lazy

from project.kit.admin import VersionLockedForm
from quotas import defining
from quotas.admin import cells
from quotas.admin.probe_headers import HeadersField, fault_of_dots, masked, stored_headers, unmasked
from quotas.models import Quota
from quotas.states import Kind

# What stays once a quota is there; the limit has its own actions.
KEPT_FIELDS = ("key", "kind", "limit_now")
SHOWN_FIELDS = ("key", "kind", *defining.EDITABLE_FIELDS)

_WHAT = ("key", "title", "kind", "limit", "unit", "parent", "description")
_KINDS: dict[Kind, tuple[Any, dict[str, Any]]] = {
    Kind.PERIODIC: (
        gettext_lazy("When it resets"),
        {
            "fields": ("reset_preset", "reset_time", "reset_weekday", "reset_day", "reset_cron", "timezone"),
            "classes": ("kind-periodic",),
        },
    ),
    Kind.RATE: (
        gettext_lazy("How it refills"),
        {"fields": ("refill_amount", "refill_seconds"), "classes": ("kind-rate",)},
    ),
}
_RESUMING = (
    gettext_lazy("When paused work goes on"),
    {
        "fields": (
            "resume_threshold",
            "stable_after_reset_seconds",
            "stable_seconds",
            "spread_seconds",
            "default_step",
            "patience_seconds",
            "shadow",
        )
    },
)
_PROVIDER = (
    gettext_lazy("The provider's own account"),
    {
        "fields": (
            "probe_url",
            "probe_headers",
            "probe_remaining",
            "probe_limit",
            "probe_reset",
            "poll_floor_seconds",
            "poll_ceiling_seconds",
        ),
        "description": gettext_lazy(
            "If the provider has a usage endpoint, it is asked before paused work goes on. Its answer is JSON; "
            "a JMESPath expression says where in it each figure stands, for example “data.remaining”."
        ),
    },
)


def fieldsets_of(kind: Kind | None) -> tuple[tuple[Any, Any], ...]:
    """Return the fieldsets of a quota of that kind; None: of one whose kind is still to be chosen."""
    what = [name if kind is None or name != "limit" else "limit_now" for name in _WHAT]
    of_kind = tuple(fieldset for name, fieldset in _KINDS.items() if kind in (None, name))
    return ((gettext_lazy("What"), {"fields": what}), *of_kind, _RESUMING, _PROVIDER)


class EndpointField(forms.URLField):
    """An address; one without a scheme is https."""

    def __init__(self, **kwargs: Any) -> None:
        super().__init__(**{"assume_scheme": "https", **kwargs})


class QuotaForm(VersionLockedForm):
    """A quota."""

    reset_weekday = forms.TypedChoiceField(
        label=gettext_lazy("Weekday"),
        coerce=int,
        choices=list(enumerate(cells.WEEKDAYS)),
        required=False,
    )
    probe_headers = HeadersField(
        label=gettext_lazy("Its headers"),
        required=False,
        help_text=gettext_lazy(
            'A JSON object, as in {"Authorization": "Bearer …"}. What is stored is shown as dots; leave the dots '
            "to keep it."
        ),
    )

    class Meta:
        model = Quota
        fields = SHOWN_FIELDS
        field_classes = {"probe_url": EndpointField}
        widgets = {
            "key": forms.TextInput(attrs={"class": "code", "size": 40, "spellcheck": "false"}),
            "description": forms.Textarea(attrs={"rows": 2}),
            "unit": forms.TextInput(attrs={"size": 20}),
            "timezone": forms.TextInput(attrs={"list": "zones", "size": 30, "autocomplete": "off"}),
            "reset_time": forms.TimeInput(format="%H:%M", attrs={"type": "time"}),
            "reset_cron": forms.TextInput(attrs={"class": "code", "size": 30, "spellcheck": "false"}),
            "probe_url": forms.URLInput(attrs={"size": 60}),
            **{
                name: forms.TextInput(attrs={"class": "code", "size": 40, "spellcheck": "false"})
                for name in ("probe_remaining", "probe_limit", "probe_reset")
            },
        }

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        instance = kwargs.get("instance")
        initial = {**(self.initial_values(instance) if instance else {}), **(kwargs.pop("initial", None) or {})}
        super().__init__(*args, initial=initial, **kwargs)
        if "parent" in self.fields:  # not so on the page of somebody who may only look
            self._offer_parents()

    def initial_values(self, instance: Quota) -> dict[str, Any]:
        """Return the values with which the form shows the quota: its probe's headers only by name."""
        values: dict[str, Any] = {
            name: Quota._meta.get_field(name).value_from_object(instance)  # type: ignore[union-attr]
            for name in SHOWN_FIELDS
        }
        return values | {"probe_headers": masked(stored_headers(instance))}

    def clean(self) -> dict[str, Any]:
        """Put the stored values back where their dots were left standing, unless those lead to another host."""
        cleaned: dict[str, Any] = super().clean() or self.cleaned_data
        typed = cleaned.get("probe_headers") or {}
        if fault := fault_of_dots(typed, self.instance, cleaned.get("probe_url")):
            self.add_error("probe_headers", fault)
        elif "probe_headers" in cleaned:
            cleaned["probe_headers"] = unmasked(typed, stored_headers(self.instance))
        return cleaned

    def store(self, quota: Quota, *, now: datetime, actor: str) -> None:
        """Write a quota that holds what was typed, as new or over the version that the form was opened with."""
        if quota.pk is None:
            defining.save_new(quota, now=now, actor=actor)
        else:
            expected = self.cleaned_data["expected_version"]
            defining.save_changes(quota, expected_version=expected, now=now, actor=actor)

    def _offer_parents(self) -> None:
        parents: Any = self.fields["parent"]
        parents.queryset = Quota.objects.exclude(pk=self.instance.pk).only("id", "key")
        parents.label_from_instance = lambda quota: quota.key
        for link in ("can_add_related", "can_change_related", "can_view_related"):
            setattr(parents.widget, link, False)

    def _post_clean(self) -> None:
        """Let the domain look at what was typed; the row is locked by now, if there is one."""
        super()._post_clean()
        current = Quota.objects.get(pk=self.instance.pk) if self.instance.pk else None
        if current is not None:
            self.instance.limit = current.limit  # not the form's to change, however old its page is
        try:
            defining.check(self.instance, current)
        except ValidationError as refusal:
            self.add_refusals(refusal)

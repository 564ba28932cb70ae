"""The form of a carrier account. The domain decides what is right; the form puts each of its sentences on its field.

The credentials are a secret: what is stored never stands in the form, and a field that is left empty leaves it as it
was. They belong to the hosts for which they were written: an account that leads elsewhere needs them anew.
"""

import json
from collections.abc import Iterator
from dataclasses import replace
from datetime import datetime
from typing import Any
from urllib.parse import urlsplit

from django import forms
from django.core.exceptions import ValidationError
from django.utils.text import capfirst
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy

from project.kit.admin import VersionLockedForm
from project.kit.secrets import DOTS, Secret
from project.kit.sentences import closed, together
from scheduler.polling import defining
from scheduler.polling.admin.account_page import stored_credentials
from scheduler.polling.admin.json_fields import ATTRIBUTES, ObjectField
from scheduler.polling.carriers.registry import KINDS
from scheduler.polling.models import CarrierAccount

FIELDSETS: Any = ((None, {"fields": ("name", "gateway", "settings", "credentials")}),)


class CredentialsField(ObjectField):
    """Credentials that are typed; those that are stored are not shown."""

    def has_changed(self, initial: Any, data: Any) -> bool:
        """Tell whether any were typed."""
        return bool(data and data.strip())


class AccountForm(VersionLockedForm):
    """A carrier account."""

    gateway = forms.ChoiceField(
        label=gettext_lazy("Gateway"), choices=[(kind.name, kind.label) for kind in KINDS.values()]
    )
    settings = ObjectField(
        label=gettext_lazy("Settings"),
        required=False,
        widget=forms.Textarea(attrs={"rows": 24, **ATTRIBUTES}),
        help_text=gettext_lazy("A JSON object; what it takes is told below. No secrets: they are in the credentials."),
    )
    credentials = CredentialsField(
        label=gettext_lazy("Credentials"), required=False, widget=forms.Textarea(attrs={"rows": 4, **ATTRIBUTES})
    )

    class Meta:
        model = CarrierAccount
        fields = ("name", "gateway", "settings", "credentials")
        widgets = {"name": forms.TextInput(attrs={"size": 40})}

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        instance = kwargs.get("instance")
        initial = {**(self.initial_values(instance) if instance else {}), **(kwargs.pop("initial", None) or {})}
        super().__init__(*args, initial=initial, **kwargs)
        if "gateway" in self.fields:  # not so on the page of somebody who may only look
            self._offer_own_gateway()
            self.fields["credentials"].help_text = _help_of(self.instance)

    def initial_values(self, instance: CarrierAccount) -> dict[str, Any]:
        """Return the values with which the form shows the account, without its credentials."""
        return {
            "name": instance.name,
            "gateway": instance.gateway,
            "settings": instance.settings,
            "credentials": "",
        }

    def clean_credentials(self) -> Secret:
        """Keep the stored credentials where none were typed."""
        typed = self.cleaned_data["credentials"]
        if typed or not self.instance.pk:
            return Secret.of(json.dumps(typed)) if typed else Secret.of("")
        stored: Secret = self.instance.credentials
        return stored

    def clean(self) -> dict[str, Any]:
        """Refuse to send stored credentials to another host than those for which they were written."""
        cleaned: dict[str, Any] = super().clean() or self.cleaned_data
        if not self._typed("credentials").strip() and (
            fault := fault_of_kept_credentials(self.instance, cleaned.get("settings"))
        ):
            self.add_error("credentials", fault)
        return cleaned

    def store(self, account: CarrierAccount, *, now: datetime) -> None:
        """Write an account that holds what was typed, as new or over the version that the form was opened with."""
        if account.pk is None:
            defining.save_new_account(account, now=now)
        else:
            defining.save_account(account, expected_version=self.cleaned_data["expected_version"], now=now)

    def _offer_own_gateway(self) -> None:
        """Let an account keep a gateway that is not there any more."""
        field, own = self.fields["gateway"], self.instance.gateway
        if own and own not in KINDS and isinstance(field, forms.ChoiceField):
            field.choices = [(own, own), *field.choices]  # type: ignore[misc]

    def _post_clean(self) -> None:
        """Let the domain look at what was typed; the row is locked by now, if there is one."""
        super()._post_clean()
        if self.errors.keys() & defining.ACCESS_FIELDS:
            return
        current = CarrierAccount.objects.get(pk=self.instance.pk) if self.instance.pk else None
        try:
            defining.check_account(self.instance, current)
        except ValidationError as refusal:
            self.add_refusals(refusal)

    def _merge(self, current: Any) -> None:
        """Note the differences, without showing in them what was typed as credentials."""
        super()._merge(current)
        hidden = str(self.fields["credentials"].label)
        self.differences = [
            replace(difference, typed=DOTS) if str(difference.label) == hidden else difference
            for difference in self.differences
        ]


def _help_of(account: CarrierAccount) -> str:
    what = _('A JSON object, as in {"user": "…", "password": "…"}. They are never shown again.')
    if not account.pk:
        return what
    stored = closed(capfirst(stored_credentials(account)).removesuffix("."))
    return together(what, stored, _("Left empty, that stays as it is."))


def fault_of_kept_credentials(account: CarrierAccount, settings: Any) -> str:
    """Say why an account cannot keep its credentials with these settings; empty: it can."""
    if account.pk and account.credentials and set(_origins(settings)) - set(_origins(account.settings)):
        return _("The settings lead to another host. Write the credentials anew: the stored ones stay with it.")
    return ""


def _origins(value: Any) -> Iterator[tuple[str, str]]:
    """Yield the schemes and hosts of all addresses in the settings."""
    match value:
        case dict():
            for part in value.values():
                yield from _origins(part)
        case list():
            for part in value:
                yield from _origins(part)
        case str() if value.lower().startswith(("http://", "https://")):
            yield _origin(value)


def _origin(address: str) -> tuple[str, str]:
    try:
        parts = urlsplit(address)
    except ValueError:
        return "", address
    return parts.scheme, parts.netloc

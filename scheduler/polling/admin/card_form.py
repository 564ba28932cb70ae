"""The form of a card: what an operator knows of it. What its carrier says is written by the polling."""

from datetime import datetime
from typing import Any

from django import forms
from django.core.exceptions import ValidationError
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy

from project.kit.admin import VersionLockedForm
from scheduler.polling import iccid
from scheduler.polling.fleet import lifecycle
from scheduler.polling.models import Card, Device

# What stays once a card is there: its number; the account and whether it is polled have their own actions.
NEW_FIELDS = ("iccid", "account", "msisdn", "imsi", "device", "reset_day", "polling_enabled")
EDITED_FIELDS = ("msisdn", "imsi", "device", "reset_day")


class DeviceField(forms.CharField):
    """A device by its code: there are too many to choose from a list."""

    def prepare_value(self, value: Any) -> Any:
        """Return the code."""
        return value.code if isinstance(value, Device) else value

    def clean(self, value: Any) -> Any:
        """Return the device of that code, or None where none was typed."""
        code = super().clean(value)
        if not code:
            return None
        device = Device.objects.filter(code=code).first()
        if device is None:
            raise ValidationError(_("There is no device with the code “%(code)s”. Add it first.") % {"code": code})
        return device


class DigitsField(forms.CharField):
    """A number of digits, as people write them: with spaces, hyphens, and a plus before it."""

    def clean(self, value: Any) -> str:
        """Return its digits alone."""
        return digits_of(super().clean(value))


def digits_of(typed: str) -> str:
    """Return the digits of a number as people write it.

    Raises:
        ValidationError: it is none.
    """
    digits = typed.removeprefix("+").replace(" ", "").replace("-", "")
    if digits and not (digits.isascii() and digits.isdigit()):
        raise ValidationError(_("Write its digits alone."))
    return digits


class CardForm(VersionLockedForm):
    """A card."""

    iccid = forms.CharField(label="ICCID", widget=forms.TextInput(attrs={"class": "code", "size": 24}))
    msisdn = DigitsField(label="MSISDN", required=False, max_length=20)
    imsi = DigitsField(label="IMSI", required=False, max_length=15)
    device = DeviceField(
        label=gettext_lazy("Device"), required=False, help_text=gettext_lazy("The code of the device that it is in.")
    )

    class Meta:
        model = Card
        fields = NEW_FIELDS

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        instance = kwargs.get("instance")
        initial = {**(self.initial_values(instance) if instance else {}), **(kwargs.pop("initial", None) or {})}
        super().__init__(*args, initial=initial, **kwargs)
        if self.instance.pk:
            self.fields.pop("iccid", None)
        if "account" in self.fields:
            for link in ("can_add_related", "can_change_related", "can_view_related"):
                setattr(self.fields["account"].widget, link, False)

    def initial_values(self, instance: Card) -> dict[str, Any]:
        """Return the values with which the form shows the card: its device by its code."""
        values = {name: Card._meta.get_field(name).value_from_object(instance) for name in NEW_FIELDS}  # type: ignore[union-attr]
        return values | {"device": instance.device.code if instance.device else ""}

    def clean_iccid(self) -> str:
        """Return the number without the separators that people write, if its last digit is right."""
        try:
            number = iccid.checked(self.cleaned_data["iccid"])
        except iccid.BadICCID as error:
            raise ValidationError(str(error)) from None
        return number

    def store(self, card: Card, *, now: datetime) -> None:
        """Write a card that holds what was typed, as new or over the version that the form was opened with."""
        if card.pk is None:
            lifecycle.add_cards([card], now=now)
        else:
            lifecycle.save_changes(card, expected_version=self.cleaned_data["expected_version"], now=now)

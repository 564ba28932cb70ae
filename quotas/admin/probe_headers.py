"""The headers of a usage endpoint are secrets: shown by name, never by value."""

import json
from collections.abc import Mapping
from typing import Any

from django import forms
from django.core.exceptions import ValidationError
from django.utils.translation import gettext as _

from project.kit.secrets import DOTS


def masked(headers: Mapping[str, str]) -> dict[str, str]:
    """Return the headers with dots for their values."""
    return dict.fromkeys(headers, DOTS)


def unmasked(typed: Mapping[str, str], stored: Mapping[str, str]) -> dict[str, str]:
    """Return the typed headers with the stored values where dots were left standing."""
    return {name: stored.get(name, value) if value == DOTS else value for name, value in typed.items()}


class HeadersField(forms.JSONField):
    """A JSON object of texts, shown with its lines indented."""

    widget = forms.Textarea(attrs={"rows": 3, "class": "code", "spellcheck": "false", "autocomplete": "off"})

    def prepare_value(self, value: Any) -> Any:
        """Return the text of the object; what could not be read comes back as it was typed."""
        if isinstance(value, dict) or value is None:
            return json.dumps(value, indent=2, ensure_ascii=False) if value else ""
        return super().prepare_value(value)

    def clean(self, value: Any) -> Any:
        """Return the object; nothing typed is an object without headers."""
        read = super().clean(value)
        if read is None:
            return {}
        if not isinstance(read, dict) or not all(isinstance(text, str) for text in read.values()):
            raise ValidationError(
                _('Write the headers as a JSON object of texts, as in {"Authorization": "Bearer …"}.')
            )
        return read

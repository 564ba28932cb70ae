"""Form fields that several apps have."""

from typing import Any

from django import forms
from django.core.exceptions import ValidationError

from project.kit.admin.actions import Text
from project.kit.admin.cells import pretty_json


class TextsField(forms.JSONField):
    """A JSON object of texts, shown with its lines indented; nothing typed is an empty one.

    Attributes:
        remedy: what is said of anything else.
    """

    widget = forms.Textarea(attrs={"rows": 3, "class": "code", "spellcheck": "false", "autocomplete": "off"})
    remedy: Text

    def prepare_value(self, value: Any) -> Any:
        """Return the text of the object; what could not be read comes back as it was typed."""
        if isinstance(value, dict) or value is None:
            return pretty_json(value) if value else ""
        return super().prepare_value(value)

    def to_python(self, value: Any) -> Any:
        """Return the object."""
        read = super().to_python(value)
        if read is None:
            return {}
        if not isinstance(read, dict) or not all(isinstance(text, str) for text in read.values()):
            raise ValidationError(str(self.remedy))
        return read

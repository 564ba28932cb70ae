"""Fields in which a person types JSON. What is typed stays as it is typed, and is refused with what is wrong in it."""

import json
from typing import Any

from django import forms
from django.core.exceptions import ValidationError
from django.utils.translation import gettext as _

from project.kit.admin import pretty_json

ATTRIBUTES = {"class": "code", "autocomplete": "off", "spellcheck": "false"}


def read(text: str) -> Any:
    """Return what a JSON text says.

    Raises:
        ValidationError: it is no JSON, or holds what the database could not keep.
    """
    try:
        value = json.loads(text)
        told = json.dumps(value, ensure_ascii=False, allow_nan=False)
        told.encode()
    except json.JSONDecodeError as error:
        raise ValidationError(
            _("This is no JSON. Line %(line)s, column %(column)s: %(what)s.")
            % {"line": error.lineno, "column": error.colno, "what": error.msg}
        ) from None
    except UnicodeEncodeError:
        raise ValidationError(_("Half of a character stands in it, as \\ud800 is one. Write all of it.")) from None
    except ValueError:
        raise ValidationError(_("NaN and Infinity are no numbers of JSON. Write a number.")) from None
    except RecursionError:
        raise ValidationError(_("It is nested too deeply.")) from None
    if "\\u0000" in told:
        raise ValidationError(_("The character \\u0000 cannot be kept. Leave it out."))
    return value


class JsonField(forms.CharField):
    """Any JSON; nothing typed is None."""

    widget = forms.Textarea(attrs={"rows": 3, **ATTRIBUTES})

    def prepare_value(self, value: Any) -> Any:
        """Return the text of a value; what was typed stays as it is."""
        return value if value is None or isinstance(value, str) else self.text_of(value)

    def text_of(self, value: Any) -> str:
        """Return a value as it is shown: in one line."""
        return json.dumps(value, ensure_ascii=False)

    def to_python(self, value: Any) -> Any:
        """Return what was typed, read."""
        if not isinstance(value, str):
            return value
        return read(value) if value.strip() else None


class ObjectField(JsonField):
    """A JSON object, shown with its lines indented; nothing typed is an empty one."""

    def text_of(self, value: Any) -> str:
        """Return an object as it is shown; of an empty one nothing."""
        return pretty_json(value) if value else ""

    def to_python(self, value: Any) -> Any:
        """Return the object."""
        said = super().to_python(value) or {}
        if not isinstance(said, dict):
            raise ValidationError(_("Write an object, with its members between { and }."))
        return said

"""The form of an object action, filled in from JSON and described as a schema."""

from collections.abc import Mapping
from datetime import datetime
from typing import Any

from django import forms
from django.core.exceptions import ValidationError as DjangoValidationError
from django.db.models import Model
from django.utils.functional import Promise
from django.utils.translation import gettext
from django.utils.translation import gettext_lazy as _
from rest_framework.exceptions import ValidationError

from project.kit.admin import ReasonForm

# Of each kind of field, the first that fits: what JSON calls its values, what they are in Python, and a sentence.
_TYPES: tuple[tuple[type[forms.Field], str, type | tuple[type, ...], str | Promise], ...] = (
    (forms.BooleanField, "boolean", bool, _("Write true or false.")),
    (forms.JSONField, "object", dict, _("Write a JSON object.")),
    (forms.MultipleChoiceField, "array", list, _("Write a list.")),
    (forms.ModelChoiceField, "integer", int, _("Write the number of a row.")),
    (forms.IntegerField, "integer", int, _("Write a whole number.")),
    (forms.Field, "string", str, _("Write a text.")),
)


def filled(form_class: type[ReasonForm], said: Any, *, row: Model, now: datetime) -> ReasonForm:
    """Return the form with what the body of a request says.

    Raises:
        ValidationError: a field is wrong, or there is none of that name.
    """
    if not isinstance(said, Mapping):
        raise ValidationError(gettext("Write a JSON object."))
    given = {name: value for name, value in said.items() if value is not None}
    form = form_class({**_hidden(form_class), **given}, row=row, now=now)
    asked = {name: field for name, field in form.fields.items() if not field.widget.is_hidden}
    misfits = {name: sentence for name, value in given.items() if (sentence := _misfit(asked.get(name), value))}
    if misfits:
        raise ValidationError(misfits)
    if form.errors:
        raise DjangoValidationError(form.errors.as_data())
    return form


def schema_of(form_class: type[ReasonForm]) -> dict[str, Any]:
    """Return the JSON schema of the form."""
    fields = {name: field for name, field in form_class.base_fields.items() if not field.widget.is_hidden}
    required = [name for name, field in fields.items() if field.required]
    return {
        "type": "object",
        "properties": {name: _property(field) for name, field in fields.items()},
        **({"required": required} if required else {}),
    }


def _hidden(form_class: type[ReasonForm]) -> dict[str, Any]:
    """Return what a page would send along without a person seeing it."""
    hidden = {name: field.initial for name, field in form_class.base_fields.items() if field.widget.is_hidden}
    return {name: initial() if callable(initial) else initial for name, initial in hidden.items()}


def _misfit(field: forms.Field | None, value: Any) -> str:
    """Say why a value cannot be the field's, before the form reads it as if it were typed; empty: it may be."""
    if field is None:
        return gettext("There is no such field.")
    kind, python_type, sentence = _type_of(field)
    is_number = isinstance(value, bool) and kind != "boolean"  # for Python, true is a whole number
    return "" if isinstance(value, python_type) and not is_number else str(sentence)


def _type_of(field: forms.Field) -> tuple[str, type | tuple[type, ...], str | Promise]:
    return next(entry[1:] for entry in _TYPES if isinstance(field, entry[0]))


def _property(field: forms.Field) -> dict[str, Any]:
    described: dict[str, Any] = {"type": _type_of(field)[0]}
    text = " – ".join(str(part) for part in (field.label, field.help_text) if part)
    if text:
        described["description"] = text
    if isinstance(field, forms.DateTimeField):
        described["format"] = "date-time"
    elif isinstance(field, forms.DateField):
        described["format"] = "date"
    if getattr(field, "max_length", None):
        described["maxLength"] = field.max_length  # type: ignore[attr-defined]
    if isinstance(field, forms.ChoiceField) and described["type"] == "string":
        described["enum"] = [value for value, _label in field.choices]  # type: ignore[union-attr, misc]
    return described

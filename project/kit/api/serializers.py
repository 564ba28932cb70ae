"""How rows are shown and read: instants in UTC, secrets as dots, and sentences that show nothing of Python."""

import json
from collections.abc import Mapping
from datetime import UTC
from typing import Any

from django.db import models
from django.utils.functional import Promise
from django.utils.translation import gettext_lazy as _
from drf_spectacular.utils import extend_schema_field
from rest_framework import serializers
from rest_framework.fields import SkipField

from project.kit.secrets import DOTS, Secret, SecretField, SecretJSONField

_SENTENCES: Mapping[type[serializers.Field[Any, Any, Any, Any]], Mapping[str, Any]] = {
    serializers.CharField: {"invalid": _("Write a text."), "blank": _("It may not be empty.")},
    serializers.BooleanField: {"invalid": _("Write true or false.")},
    serializers.IntegerField: {"invalid": _("Write a whole number.")},
    serializers.ListField: {"not_a_list": _("Write a list.")},
    serializers.DictField: {"not_a_dict": _("Write an object of texts.")},
}


class Instant(serializers.DateTimeField):
    """An instant, shown in UTC whatever the viewer's zone; one without an offset is taken as UTC."""

    def __init__(self, **kwargs: Any) -> None:
        super().__init__(default_timezone=UTC, **kwargs)


class SecretText(serializers.CharField):
    """A secret: it can be written, and is shown as dots. Dots that are sent back leave it as it was."""

    default_error_messages = {"dots": _("Write the secret itself: the dots only stand for it.")}

    def to_representation(self, value: Any) -> str:
        """Return dots, or nothing where there is none."""
        return DOTS if value else ""

    def to_internal_value(self, data: Any) -> Any:
        """Return the secret that was written.

        Raises:
            SkipField: it was not.
        """
        text = super().to_internal_value(data)
        if text != DOTS:
            return Secret.of(text)
        if self.root.instance is None:
            self.fail("dots")
        raise SkipField


@extend_schema_field({"oneOf": [{"type": "object"}, {"type": "string", "enum": [DOTS, ""]}]})
class SecretObject(serializers.Field[Any, Any, Any, Any]):
    """A secret that is an object: it can be written, and is shown as dots. Dots leave it as it was."""

    default_error_messages = {
        "dots": SecretText.default_error_messages["dots"],
        "not_an_object": _("Write a JSON object."),
    }

    def to_representation(self, value: Any) -> str:
        """Return dots, or nothing where there is none."""
        return DOTS if value else ""

    def to_internal_value(self, data: Any) -> Secret:
        """Return the secret that was written.

        Raises:
            SkipField: it was not.
        """
        if data == DOTS:
            if self.root.instance is None:
                self.fail("dots")
            raise SkipField
        if data != "" and not isinstance(data, Mapping):
            self.fail("not_an_object")
        return Secret.of(json.dumps(data) if data else "")


class RowSerializer(serializers.ModelSerializer[Any]):
    """A serializer of a model. It shapes rows and judges their form; what else is right is for the domain to say.

    Attributes:
        kept: the fields that no change of a row alters, each with a sentence that says what does.
    """

    kept: Mapping[str, str | Promise] = {}
    default_error_messages = {"invalid": _("Write a JSON object.")}
    serializer_field_mapping = {
        **serializers.ModelSerializer.serializer_field_mapping,
        models.DateTimeField: Instant,
        SecretField: SecretText,
        SecretJSONField: SecretObject,
    }

    def get_fields(self) -> dict[str, Any]:
        """Return the fields, which speak to people."""
        fields: dict[str, Any] = super().get_fields()
        for field in fields.values():
            _speak_plainly(field)
        return fields

    def build_standard_field(self, field_name: str, model_field: Any) -> Any:
        """Return the class of a column's field, and what makes it; a choice may be empty where its column may."""
        kind, kwargs = super().build_standard_field(field_name, model_field)
        if "choices" in kwargs and model_field.blank:
            kwargs["allow_blank"] = True
        return kind, kwargs

    def include_extra_kwargs(self, kwargs: Any, extra_kwargs: Any) -> Any:
        """Return what makes a field; the schema tells also of a choice that is only shown that it may be empty."""
        kept = {"allow_blank": True} if "choices" in kwargs and kwargs.get("allow_blank") else {}
        return {**super().include_extra_kwargs(kwargs, extra_kwargs), **kept}

    def to_internal_value(self, data: Any) -> Any:
        """Return what was written.

        Raises:
            ValidationError: a field is wrong, or stays as it is, or there is none of that name.
        """
        if isinstance(data, Mapping):
            unknown = [name for name in data if name not in self.fields]
            if unknown:
                raise serializers.ValidationError({name: _("There is no such field.") for name in unknown})
        values = super().to_internal_value(data)
        if self.instance is not None and (fixed := self._altered(values)):
            raise serializers.ValidationError({name: str(self.kept[name]) for name in fixed})
        return values

    def _altered(self, values: Mapping[str, Any]) -> list[str]:
        """Return the kept fields that would not be as they are."""
        return [name for name in self.kept if name in values and values[name] != getattr(self.instance, name)]


def _speak_plainly(field: Any) -> None:
    for kind, sentences in _SENTENCES.items():
        if isinstance(field, kind):
            field.error_messages |= sentences
    if isinstance(field, serializers.ChoiceField):
        choices = ", ".join(str(choice) for choice in field.choices if choice)
        field.error_messages["invalid_choice"] = _("Choose one of: {choices}.").format(choices=choices)
    if child := getattr(field, "child", None):
        _speak_plainly(child)

"""The forms of the panel's actions, filled in from JSON."""

from datetime import UTC, datetime
from typing import Any

import pytest
from django import forms
from django.contrib.auth.models import User
from django.core.exceptions import ValidationError as DjangoValidationError
from rest_framework.exceptions import ValidationError

from project.kit.admin import ReasonForm
from project.kit.api.forms import filled, schema_of

NOW = datetime(2026, 6, 1, 12, tzinfo=UTC)


class Everything(ReasonForm):
    """A form with a field of each kind."""

    count = forms.IntegerField(required=False, label="How many")
    sure = forms.BooleanField(required=False)
    way = forms.ChoiceField(required=False, choices=[("a", "A"), ("b", "B")])
    labels = forms.JSONField(required=False)
    until = forms.DateTimeField(required=False)
    day = forms.DateField(required=False)


def fill(**said: Any) -> dict[str, Any]:
    """Return what the form holds."""
    return filled(Everything, said, row=User(), now=NOW).cleaned_data


def sentences_of(said: Any) -> Any:
    """Return why the form refuses."""
    with pytest.raises(ValidationError) as refused:
        filled(Everything, said, row=User(), now=NOW)
    return refused.value.detail


def test_values_are_what_json_says() -> None:
    said = {"count": 3, "sure": True, "way": "b", "labels": {"name": "x"}, "day": "2026-03-08"}
    held = fill(**said, until="2026-03-08T02:30:00+09:00")
    assert (held["count"], held["sure"], held["way"], held["labels"]) == (3, True, "b", {"name": "x"})
    assert held["until"] == datetime(2026, 3, 7, 17, 30, tzinfo=UTC)
    assert str(held["day"]) == "2026-03-08"


def test_null_and_nothing_are_what_the_form_takes_for_empty() -> None:
    assert fill(count=None) == fill()
    assert fill(sure=False)["sure"] is False


@pytest.mark.parametrize(
    ("field", "value", "sentence"),
    [
        ("reason", {"a": None}, "Write a text."),
        ("reason", 3, "Write a text."),
        ("way", ["a"], "Write a text."),
        ("count", "3", "Write a whole number."),
        ("count", True, "Write a whole number."),
        ("count", 3.5, "Write a whole number."),
        ("sure", "yes", "Write true or false."),
        ("labels", "x", "Write a JSON object."),
        ("resaon", "x", "There is no such field."),
    ],
)
def test_a_value_of_another_kind_is_refused_before_the_form_would_guess(field: str, value: Any, sentence: str) -> None:
    assert sentences_of({field: value}) == {field: sentence}


@pytest.mark.parametrize("said", [[], "x", 3, None])
def test_what_is_no_object_is_refused(said: Any) -> None:
    assert sentences_of(said) == ["Write a JSON object."]


def test_what_the_form_itself_refuses_comes_with_its_own_sentence() -> None:
    with pytest.raises(DjangoValidationError) as refused:
        fill(way="c")
    assert list(refused.value.message_dict) == ["way"]


def test_the_schema_names_each_field_with_its_type() -> None:
    class Needed(Everything):
        reason = forms.CharField(max_length=10)

    schema = schema_of(Needed)
    types = {name: (described["type"], described.get("format")) for name, described in schema["properties"].items()}
    assert types == {
        "reason": ("string", None),
        "count": ("integer", None),
        "sure": ("boolean", None),
        "way": ("string", None),
        "labels": ("object", None),
        "until": ("string", "date-time"),
        "day": ("string", "date"),
    }
    assert schema["required"] == ["reason"]
    assert schema["properties"]["way"]["enum"] == ["a", "b"]
    assert schema["properties"]["reason"]["maxLength"] == 10
    assert schema["properties"]["count"]["description"] == "How many"

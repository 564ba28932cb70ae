"""The shapes of the JSON columns, kept by the database: whoever reads them relies on it in each comparison."""

from django.db import models
from django.db.models import F, Func, Q, Value
from django.db.models.lookups import Exact


def is_object_of_texts(column: str) -> Q:
    """Return the condition that the column holds a JSON object whose values are texts."""
    return _has_type(column, "object") & _holds_only_texts(column, "$.*")


def is_list_of_texts(column: str) -> Q:
    """Return the condition that the column holds a JSON list of texts."""
    return _has_type(column, "array") & _holds_only_texts(column, "$[*]")


def _has_type(column: str, name: str) -> Q:
    return Q(Exact(Func(F(column), function="jsonb_typeof", output_field=models.TextField()), Value(name)))


def _holds_only_texts(column: str, path: str) -> Q:
    others = Func(
        F(column),
        Value(f'{path}.type() ? (@ != "string")'),  # a filter on the values themselves would look into lists
        function="jsonb_path_exists",
        template="%(function)s(%(expressions)s::jsonpath)",
        output_field=models.BooleanField(),
    )
    return ~Q(others)

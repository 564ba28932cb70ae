"""Filters and order of lists. What is asked for and not known is refused: a misspelt filter would answer with all."""

from collections.abc import Sequence
from datetime import UTC
from typing import Any

import django_filters
from django import forms
from django.db.models import QuerySet
from django.utils import timezone
from django.utils.translation import gettext as _
from django_filters.rest_framework import DjangoFilterBackend
from rest_framework.exceptions import ValidationError
from rest_framework.filters import OrderingFilter
from rest_framework.request import Request

from project.kit.admin import Question
from project.kit.api.pagination import Pages
from project.kit.clock import database_now

PAGING = frozenset({"ordering", Pages.cursor_query_param, Pages.page_size_query_param})


class Filters(DjangoFilterBackend):
    """Filters by the view's `filterset_class`."""

    def filter_queryset(self, request: Request, queryset: QuerySet[Any], view: Any) -> QuerySet[Any]:
        """Return the rows that were asked for.

        Raises:
            ValidationError: a parameter is not known, or its value is wrong.
        """
        filterset_class = getattr(view, "filterset_class", None)
        known = set(filterset_class.base_filters) if filterset_class else set()
        for name in request.query_params:
            if name not in known | PAGING:
                there_are = ", ".join(sorted(known | PAGING))
                raise ValidationError({name: _("There is no such parameter. There are: %s.") % there_are})
        rows: QuerySet[Any] = super().filter_queryset(request, queryset, view)
        return rows


class Ordering(OrderingFilter):
    """Orders by `?ordering=` one of the view's `ordering_fields`, which all have an index and no nulls."""

    def get_ordering(self, request: Request, queryset: QuerySet[Any], view: Any) -> Sequence[str]:
        """Return the order, with the key of the row as the last word.

        Raises:
            ValidationError: the list cannot be ordered so.
        """
        asked = request.query_params.get(self.ordering_param) or view.ordering
        if asked.removeprefix("-") not in view.ordering_fields:
            choices = ", ".join(f"{name}, -{name}" for name in view.ordering_fields)
            raise ValidationError({self.ordering_param: _("Order by one of: %s.") % choices})
        key = queryset.model._meta.pk.name
        last = f"-{key}" if asked.startswith("-") else key
        return (asked,) if asked == last else (asked, last)

    def get_schema_operation_parameters(self, view: Any) -> list[dict[str, Any]]:
        """Return the parameter with all that it may be."""
        choices = [way + name for name in view.ordering_fields for way in ("", "-")]
        schema = {"type": "string", "enum": choices, "default": view.ordering}
        return [{"name": self.ordering_param, "required": False, "in": "query", "schema": schema}]


class RowFilter(django_filters.Filter):
    """Rows that belong to another one, by its number. A NumberFilter would take 1.5 for 1."""

    field_class = forms.IntegerField


class UtcField(django_filters.fields.IsoDateTimeField):
    """An instant in ISO 8601."""

    def to_python(self, value: Any) -> Any:
        """Return the instant, in UTC: PostgreSQL knows no offset of 16 hours or more.

        Raises:
            ValidationError: it is none, or none that UTC has a year for.
        """
        with timezone.override(UTC):
            instant = super().to_python(value)
        try:
            return instant and instant.astimezone(UTC)
        except OverflowError:
            raise forms.ValidationError(self.error_messages["invalid"], code="invalid") from None


class InstantFilter(django_filters.IsoDateTimeFilter):
    """Rows by an instant; one without an offset is taken as UTC, whatever the viewer's zone."""

    field_class = UtcField


class ShowFilter(django_filters.ChoiceFilter):
    """`?show=overdue`: rows that answer a question which people ask of the list in the control panel."""

    def __init__(self, questions: Sequence[Question]) -> None:
        self.conditions = {question.name: question.condition for question in questions}
        super().__init__(choices=[(question.name, question.label) for question in questions])

    def filter(self, qs: QuerySet[Any], value: str) -> QuerySet[Any]:
        """Return those rows."""
        return qs.filter(self.conditions[value](database_now())) if value else qs


class LabelFilter(django_filters.CharFilter):
    """`?label=name:nightly`: rows whose `labels` hold this one."""

    def filter(self, qs: QuerySet[Any], value: str) -> QuerySet[Any]:
        """Return those rows.

        Raises:
            ValidationError: it is not written as a name and a value.
        """
        if not value:
            return qs
        name, colon, text = value.partition(":")
        if not colon:
            raise ValidationError({"label": _("Write a label as its name, a colon and its value: name:nightly.")})
        return qs.filter(**{f"{self.field_name}__contains": {name: text}})

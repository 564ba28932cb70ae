"""Filters of lists: by a question that people ask, by a row that a link named, and by a day."""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from datetime import date, datetime, timedelta
from typing import Any

from django.contrib.admin import SimpleListFilter
from django.contrib.admin.views.main import ChangeList
from django.db.models import Model, Q, QuerySet
from django.http import HttpRequest
from django.utils.functional import Promise
from django.utils.translation import gettext_lazy as _

from project.kit.clock import database_now


@dataclass(frozen=True, slots=True)
class Question:
    """A question that people ask of a list, and the condition that answers it at an instant."""

    name: str
    label: str | Promise
    condition: Callable[[datetime], Q]


class QuestionFilter(SimpleListFilter):
    """Offers a list's questions, one at a time. Subclass it and name the questions."""

    title = _("Show")
    parameter_name = "show"
    template = "admin/question_filter.html"
    questions: Sequence[Question] = ()

    def lookups(self, request: HttpRequest, model_admin: Any) -> list[tuple[str, str | Promise]]:  # type: ignore[override]
        """Return the questions."""
        return [(question.name, question.label) for question in self.questions]

    def queryset(self, request: HttpRequest, queryset: QuerySet[Any]) -> QuerySet[Any]:
        """Return the rows that answer the chosen question."""
        for question in self.questions:
            if question.name == self.value():
                return queryset.filter(question.condition(database_now()))
        return queryset


class NamedRowFilter(SimpleListFilter):
    """Shows what belongs to the one row that a link named; there may be too many rows to choose from here. Subclass it,
    name the parameter, and the model of that row.
    """

    parameter_name: str
    model: type[Model]
    # The field by which people know the row; empty: its text.
    known_by = ""

    def lookups(self, request: HttpRequest, model_admin: Any) -> list[tuple[str, str]]:
        """Return the row that was named."""
        named = request.GET.get(self.parameter_name, "")
        rows = self.model._default_manager.filter(pk=named) if named.isdecimal() else ()
        return [(named, str(getattr(row, self.known_by) if self.known_by else row)) for row in rows]

    def queryset(self, request: HttpRequest, queryset: QuerySet[Any]) -> QuerySet[Any]:
        """Return what belongs to the named row."""
        named = self.value()
        return self.of(queryset, int(named)) if named and named.isdecimal() else queryset

    def of(self, queryset: QuerySet[Any], number: int) -> QuerySet[Any]:
        """Return what belongs to the row of that number."""
        return queryset.filter(**{self.parameter_name: number})


class DayFilter(SimpleListFilter):
    """Shows the rows of one day, with the way to the day before and after. Subclass it and name the date field."""

    template = "admin/day_filter.html"
    parameter_name: str

    def lookups(self, request: HttpRequest, model_admin: Any) -> list[tuple[str, str]]:
        """Return nothing to choose from: any day can be asked for."""
        return []

    def has_output(self) -> bool:
        """Say that the filter is shown although it has no choices."""
        return True

    @property
    def day(self) -> date | None:
        """The day asked for."""
        try:
            day = date.fromisoformat(self.value() or "")
        except ValueError:
            return None
        return day if date.min.year < day.year < date.max.year else None

    def queryset(self, request: HttpRequest, queryset: QuerySet[Any]) -> QuerySet[Any]:
        """Return the rows of the day."""
        return queryset.filter(**{self.parameter_name: self.day}) if self.day else queryset

    def choices(self, changelist: ChangeList) -> Iterator[dict[str, Any]]:  # type: ignore[override]
        """Yield what the template draws: the day, its neighbours, and the other parameters of the list."""
        others = {name: value for name, value in changelist.params.items() if name != self.parameter_name}
        yield {
            "day": self.day,
            "name": self.parameter_name,
            "others": others,
            "before": self._query(changelist, -1),
            "after": self._query(changelist, 1),
            "any": changelist.get_query_string(remove=[self.parameter_name]),
        }

    def _query(self, changelist: ChangeList, days: int) -> str | None:
        if self.day is None:
            return None
        day = (self.day + timedelta(days=days)).isoformat()
        return changelist.get_query_string({self.parameter_name: day})

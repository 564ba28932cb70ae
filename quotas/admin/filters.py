"""The filters of the quotas' lists."""

from typing import Any

from django.contrib.admin import SimpleListFilter
from django.db.models import QuerySet
from django.http import HttpRequest
from django.utils.translation import gettext_lazy as _

from project.kit.admin import NamedRowFilter, QuestionFilter
from quotas.admin.questions import QUOTA_QUESTIONS
from quotas.models import Quota


class QuotaQuestionFilter(QuestionFilter):
    """Quotas by what people ask about them."""

    questions = QUOTA_QUESTIONS


class OwnerFilter(SimpleListFilter):
    """Rows of the one owner that a link named."""

    title = _("for")
    parameter_name = "owner"

    def lookups(self, request: HttpRequest, model_admin: Any) -> list[tuple[str, str]]:
        """Return the named owner."""
        named = request.GET.get(self.parameter_name, "")
        return [(named, named)] if named else []

    def queryset(self, request: HttpRequest, queryset: QuerySet[Any]) -> QuerySet[Any]:
        """Return the rows of the named owner."""
        return queryset.filter(owner=self.value()) if self.value() else queryset


class QuotaFilter(NamedRowFilter):
    """Rows of a quota."""

    title, parameter_name, model, known_by = _("quota"), "quota", Quota, "key"

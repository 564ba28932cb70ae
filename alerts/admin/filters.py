"""The filters of the alerts' lists."""

from typing import Any

from django.contrib.admin import SimpleListFilter
from django.db.models import QuerySet
from django.http import HttpRequest
from django.utils.functional import Promise
from django.utils.translation import gettext_lazy as _

from alerts.admin.questions import ALERT_QUESTIONS, SILENCE_QUESTIONS
from alerts.kinds import PROBLEMS, kind_label
from alerts.models import Channel
from project.kit.admin import QuestionFilter


class AlertQuestionFilter(QuestionFilter):
    """Alerts by where they stand."""

    questions = ALERT_QUESTIONS


class SilenceQuestionFilter(QuestionFilter):
    """Silences by what people ask about them."""

    questions = SILENCE_QUESTIONS


class KindFilter(SimpleListFilter):
    """Alerts by their kind; the choices are the known problems, so that nobody reads all of history for them."""

    title = _("kind")
    parameter_name = "kind"

    def lookups(self, request: HttpRequest, model_admin: Any) -> list[tuple[str, str | Promise]]:  # type: ignore[override]
        """Return the known kinds, and the one that a link named."""
        named = request.GET.get(self.parameter_name, "")
        others = [(named, kind_label(named))] if named and named not in PROBLEMS else []
        return [*PROBLEMS.items(), *others]

    def queryset(self, request: HttpRequest, queryset: QuerySet[Any]) -> QuerySet[Any]:
        """Return the rows of the chosen kind."""
        return queryset.filter(kind=self.value()) if self.value() else queryset


class ChannelFilter(SimpleListFilter):
    """Deliveries to one channel."""

    title = _("channel")
    parameter_name = "channel"

    def lookups(self, request: HttpRequest, model_admin: Any) -> list[tuple[str, str]]:
        """Return the channels."""
        return [(str(pk), name) for pk, name in Channel.objects.order_by("name").values_list("pk", "name")]

    def queryset(self, request: HttpRequest, queryset: QuerySet[Any]) -> QuerySet[Any]:
        """Return the deliveries to the chosen channel."""
        named = self.value()
        return queryset.filter(channel=named) if named and named.isdecimal() else queryset

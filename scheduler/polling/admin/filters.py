"""The filters of the polling's lists."""

from collections.abc import Iterator
from typing import Any

from django.contrib.admin import SimpleListFilter
from django.contrib.admin.views.main import ChangeList
from django.db.models import QuerySet
from django.http import HttpRequest
from django.utils.functional import Promise
from django.utils.translation import gettext_lazy as _

from project.kit.admin import NamedRowFilter, QuestionFilter
from scheduler.polling.admin.questions import ACCOUNT_QUESTIONS, CARD_QUESTIONS
from scheduler.polling.models import Card, CarrierAccount, CheckRequest, Device
from scheduler.polling.states import ErrorClass

# How a card is called in CardChange.field; its own columns, so that nobody reads all of history for them.
CHANGED_FIELDS = ("state", "real_name_state", "package", "account", "device", "polling_enabled", "reset_day")


class AccountQuestionFilter(QuestionFilter):
    """Accounts by what people ask about them."""

    questions = ACCOUNT_QUESTIONS


class CardQuestionFilter(QuestionFilter):
    """Cards by what people ask about them."""

    questions = CARD_QUESTIONS


class AccountFilter(SimpleListFilter):
    """Rows of one account. Subclass it where the account is reached in another way."""

    title = _("account")
    parameter_name = "account"
    path = "account"

    def lookups(self, request: HttpRequest, model_admin: Any) -> list[tuple[str, str]]:
        """Return the accounts."""
        return [(str(pk), name) for pk, name in CarrierAccount.objects.order_by("name").values_list("pk", "name")]

    def queryset(self, request: HttpRequest, queryset: QuerySet[Any]) -> QuerySet[Any]:
        """Return the rows of the chosen account."""
        named = self.value()
        return queryset.filter(**{self.path: named}) if named and named.isdecimal() else queryset


class CardsAccountFilter(AccountFilter):
    """Rows of the cards of one account."""

    path = "card__account"


class CardFilter(NamedRowFilter):
    """Rows of a card."""

    title, parameter_name, model = _("card"), "card", Card


class DeviceFilter(NamedRowFilter):
    """Cards in a device."""

    title, parameter_name, model = _("device"), "device", Device


class CheckRequestFilter(NamedRowFilter):
    """Looks that follow a request."""

    title, parameter_name, model = _("request"), "request", CheckRequest


class FailingFilter(SimpleListFilter):
    """The checks that fail, unless all are asked for."""

    title = _("Show")
    parameter_name = "show"
    template = "admin/question_filter.html"
    EVERY = "all"

    def lookups(self, request: HttpRequest, model_admin: Any) -> list[tuple[str, str | Promise]]:  # type: ignore[override]
        """Return the way to all checks."""
        return [(self.EVERY, _("all"))]

    def choices(self, changelist: ChangeList) -> Iterator[dict[str, Any]]:  # type: ignore[override]
        """Yield the choices; that of no choice are the failing ones."""
        for number, choice in enumerate(super().choices(changelist)):
            yield {**choice, "display": choice["display"] if number else _("failing")}

    def queryset(self, request: HttpRequest, queryset: QuerySet[Any]) -> QuerySet[Any]:
        """Return the failing checks, those that failed last first; or all of them, card by card."""
        if self.value() == self.EVERY:
            return queryset
        return queryset.filter(failures__gt=0)


class ErrorFilter(SimpleListFilter):
    """Checks by why they fail."""

    title = _("error")
    parameter_name = "error"

    def lookups(self, request: HttpRequest, model_admin: Any) -> list[tuple[str, str | Promise]]:  # type: ignore[override]
        """Return the classes of errors."""
        return [(known.value, known.label) for known in ErrorClass]

    def queryset(self, request: HttpRequest, queryset: QuerySet[Any]) -> QuerySet[Any]:
        """Return the checks of the chosen class, which fail."""
        return queryset.filter(error_class=self.value(), failures__gt=0) if self.value() else queryset


class ChangedFieldFilter(SimpleListFilter):
    """Changes by what changed."""

    title = _("what")
    parameter_name = "field"

    def lookups(self, request: HttpRequest, model_admin: Any) -> list[tuple[str, str | Promise]]:  # type: ignore[override]
        """Return the fields that are kept."""
        return [(name, Card._meta.get_field(name).verbose_name) for name in CHANGED_FIELDS]  # type: ignore[union-attr]

    def queryset(self, request: HttpRequest, queryset: QuerySet[Any]) -> QuerySet[Any]:
        """Return the changes of the chosen field."""
        return queryset.filter(field=self.value()) if self.value() in CHANGED_FIELDS else queryset

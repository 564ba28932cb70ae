"""Stops and resumes: the list, the page of one, and its end before it is sent."""

from datetime import datetime
from typing import Any

from django.contrib import admin
from django.db.models import QuerySet
from django.http import HttpRequest
from django.utils.safestring import SafeString
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy

from project.kit.admin import (
    Asked,
    BulkActionsMixin,
    Done,
    ObjectAction,
    ObjectPageMixin,
    ReasonForm,
    row_link,
    seen_at,
    when,
)
from project.kit.admin.object_actions import Refused
from scheduler.polling import operations
from scheduler.polling.admin import operation_cells
from scheduler.polling.admin.filters import AccountFilter, CardFilter
from scheduler.polling.admin.searching import SearchedByCard
from scheduler.polling.models import CardOperation
from scheduler.polling.states import OperationState

REFRESH_SECONDS = 5


def _cancel_obstacle(operation: CardOperation) -> str:
    return "" if operation.state == OperationState.WAITING else _("It waits no more: the carrier may have it already.")


def _cancel_consequences(operation: CardOperation, now: datetime) -> list[str]:
    return [_("The carrier is not asked. The card stays as it is.")]


def _cancel(operation: CardOperation, asked: Asked) -> Done:
    if not operations.cancel(operation.pk, actor=asked.actor, now=asked.now):
        raise Refused(_("It waits no more: the carrier may have it already."))
    return Done(
        _("%(kind)s of %(card)s is cancelled.") % {"kind": operation.get_kind_display(), "card": operation.card}
    )


CANCEL = ObjectAction(
    name="cancel",
    label=gettext_lazy("Cancel"),
    permission="polling.operate_card",
    obstacle=_cancel_obstacle,
    consequences=_cancel_consequences,
    perform=_cancel,
    form=ReasonForm,
    tone="danger",
    bulk=True,
)


@admin.register(CardOperation)
class CardOperationAdmin(BulkActionsMixin, ObjectPageMixin, SearchedByCard):
    """The stops and resumes."""

    list_display = ("of_card", "kind", "of_account", "standing", "asked", "actor", "due", "remark")
    list_filter = ("state", "kind", AccountFilter, CardFilter)
    ordering = ("-id",)
    sortable_by = ()
    page_template = "admin/object_page.html"
    fragment_template = "admin/polling/cardoperation/page.html"
    object_actions = (CANCEL,)

    # --- the list ----------------------------------------------------------------------------------------------

    def get_queryset(self, request: HttpRequest) -> QuerySet[CardOperation]:
        """Return the operations with their cards and accounts, of which no secrets are read."""
        rows: QuerySet[CardOperation] = super().get_queryset(request).select_related("card", "account")
        return rows.defer("account__settings", "account__credentials")

    @admin.display(description=gettext_lazy("card"))
    def of_card(self, operation: CardOperation) -> str:
        """Of which card."""
        return str(operation.card)

    @admin.display(description=gettext_lazy("account"))
    def of_account(self, operation: CardOperation) -> SafeString:
        """Which account is asked."""
        return row_link(operation.account)

    @admin.display(description=gettext_lazy("state"))
    def standing(self, operation: CardOperation) -> SafeString:
        """Where it stands."""
        return operation_cells.state_badge(operation)

    @admin.display(description=gettext_lazy("asked"))
    def asked(self, operation: CardOperation) -> SafeString:
        """When a person or an event asked for it."""
        return when(operation.created_at, seen_at(operation))

    @admin.display(description=gettext_lazy("due"))
    def due(self, operation: CardOperation) -> SafeString:
        """From when the carrier is asked; nothing once it was."""
        waits = operation.state == OperationState.WAITING
        return when(operation.due_at, seen_at(operation)) if waits else SafeString()

    @admin.display(description=gettext_lazy("remark"))
    def remark(self, operation: CardOperation) -> str | SafeString:
        """What it waits for, or why it came to nothing."""
        return operation_cells.why(operation, seen_at(operation))

    # --- the page ----------------------------------------------------------------------------------------------

    def page_context(self, request: HttpRequest, row: CardOperation) -> dict[str, Any]:
        """Return what the page shows of an operation."""
        return {
            "operation": row,
            "badge": operation_cells.state_badge(row),
            "why": operation_cells.why(row, seen_at(row)),
            "actions": self.offered_actions(request, row),
            "facts": _facts(row, seen_at(row)),
            "refresh_seconds": REFRESH_SECONDS if row.ended_at is None else 0,
        }


def _facts(operation: CardOperation, now: datetime) -> list[tuple[str, Any]]:
    facts = [
        (_("card"), row_link(operation.card)),
        (_("account"), row_link(operation.account)),
        (_("asked by"), operation.actor),
        (_("why"), operation.reason),
        (_("asked"), when(operation.created_at, now)),
        (_("due"), when(operation.due_at, now) if operation.state == OperationState.WAITING else ""),
        (_("sent"), when(operation.sent_at, now)),
        (_("accepted"), when(operation.accepted_at, now)),
        (_("ended"), when(operation.ended_at, now)),
        (_("tries"), operation.tries),
        (_("error"), operation.get_error_class_display() if operation.error_class else ""),
    ]
    return [fact for fact in facts if fact[1] != ""]

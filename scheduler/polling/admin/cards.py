"""Cards: the list, the page of one, and its form."""

from typing import Any

from django.contrib import admin
from django.db.models import Q, QuerySet
from django.http import HttpRequest
from django.utils.safestring import SafeString
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy
from redis.exceptions import RedisError

from project.kit.admin import (
    BulkActionsMixin,
    Done,
    EditedApartMixin,
    ObjectAction,
    ReasonForm,
    row_link,
    seen_at,
    when,
)
from project.kit.admin.object_actions import Refused
from project.kit.clock import database_now
from project.kit.versions import StaleVersion
from scheduler.polling import connecting
from scheduler.polling.admin import card_page, cells
from scheduler.polling.admin.card_actions import CARD_ACTIONS, CHECK_NOW, SCENE, said_of
from scheduler.polling.admin.card_form import EDITED_FIELDS, NEW_FIELDS, CardForm
from scheduler.polling.admin.filters import AccountFilter, CardQuestionFilter, DeviceFilter
from scheduler.polling.cutover import structure
from scheduler.polling.models import Card
from scheduler.polling.queue import Requested

REFRESH_SECONDS = 5


@admin.register(Card)
class CardAdmin(BulkActionsMixin, EditedApartMixin):
    """The cards."""

    list_display = ("iccid", "of_account", "standing", "real_name", "package", "used", "polled", "failing", "next_due")
    list_filter = (CardQuestionFilter, AccountFilter, "state", "real_name_state", DeviceFilter)
    search_fields = ("iccid", "msisdn", "imsi")  # see get_search_results
    search_help_text = gettext_lazy("ICCID or its beginning, MSISDN or IMSI")
    ordering = ("-id",)
    sortable_by = ()
    form = CardForm
    change_form_template = "admin/polling/card/change_form.html"
    page_template = "admin/object_page.html"
    fragment_template = "admin/polling/card/page.html"
    object_actions = CARD_ACTIONS
    refusals = (StaleVersion,)

    # --- the list ----------------------------------------------------------------------------------------------

    def get_queryset(self, request: HttpRequest) -> QuerySet[Card]:
        """Return the cards with their accounts and devices."""
        rows: QuerySet[Card] = super().get_queryset(request).select_related("account__params", "device")
        return rows

    def for_list(self, rows: QuerySet[Card]) -> QuerySet[Card]:
        """Return the rows with their checks, and of their accounts no secrets."""
        return rows.prefetch_related("checks").defer("account__settings", "account__credentials")

    def get_search_results(
        self, request: HttpRequest, queryset: QuerySet[Card], search_term: str
    ) -> tuple[QuerySet[Card], bool]:
        """Find cards by their numbers, each by its index."""
        term = search_term.strip().removeprefix("+").replace(" ", "").replace("-", "")
        if not term:
            return queryset, False
        return queryset.filter(Q(iccid__startswith=term) | Q(msisdn=term) | Q(imsi=term)), False

    @admin.display(description=gettext_lazy("account"))
    def of_account(self, card: Card) -> SafeString:
        """Whose it is."""
        return row_link(card.account)

    @admin.display(description=gettext_lazy("state"))
    def standing(self, card: Card) -> SafeString:
        """Its state at its carrier."""
        return cells.state_badge(card.state)

    @admin.display(description=gettext_lazy("real name"))
    def real_name(self, card: Card) -> SafeString:
        """Whether its user has shown who he is."""
        return cells.named(_("real name"), cells.real_name_badge(card.real_name_state))

    @admin.display(description=gettext_lazy("used"))
    def used(self, card: Card) -> SafeString:
        """How much of its allowance is used."""
        return cells.usage(card)

    @admin.display(description=gettext_lazy("polled"))
    def polled(self, card: Card) -> SafeString:
        """Whether it is polled."""
        return cells.named(_("polled"), cells.polled_badge(card))

    @admin.display(description=gettext_lazy("fails"))
    def failing(self, card: Card) -> SafeString:
        """Which of its checks fail."""
        return cells.named(_("fails"), cells.failing_badge(list(card.checks.all())))

    @admin.display(description=gettext_lazy("due"))
    def next_due(self, card: Card) -> SafeString:
        """When its next check is due."""
        due = [check.due_at for check in card.checks.all() if check.due_at is not None]
        return cells.named(_("due"), when(min(due), seen_at(card)) if due else "")

    # --- the page ----------------------------------------------------------------------------------------------

    def page_context(self, request: HttpRequest, row: Card) -> dict[str, Any]:
        """Return what the page shows of a card."""
        return {
            "card": row,
            "actions": [*self.offered_actions(request, row), *self.edit_links(request, row)],
            "refresh_seconds": REFRESH_SECONDS,
            **card_page.overview(row, seen_at(row)),
        }

    # --- who may -----------------------------------------------------------------------------------------------

    def has_delete_permission(self, request: HttpRequest, obj: Any = None) -> bool:
        """Say that nobody may do so here: it is an action, which the domain performs."""
        return False

    # --- the form ----------------------------------------------------------------------------------------------

    def get_fields(self, request: HttpRequest, obj: Card | None = None) -> tuple[str, ...]:
        """Return what the form shows: of a new card also its number and its account."""
        return EDITED_FIELDS if obj else NEW_FIELDS

    def save_model(self, request: HttpRequest, obj: Card, form: CardForm, change: bool) -> None:
        """Save through the life cycle, which lets the live order follow."""
        form.store(obj, now=database_now())

    # --- the actions -------------------------------------------------------------------------------------------

    def perform(self, request: HttpRequest, action: ObjectAction, pk: Any, seen: str, form: ReasonForm) -> Done:
        """Perform the action; checks are asked for after the transaction that looked at the card."""
        done = super().perform(request, action, pk, seen, form)
        if action is not CHECK_NOW:
            return done
        card = Card.objects.filter(pk=pk).first()
        if card is None:
            raise Refused(_("It does not exist any more."))
        requested = _request(card, form.cleaned_data["checks"])
        if requested is Requested.UNKNOWN:
            raise Refused(said_of(requested, card))
        return Done(said_of(requested, card))

    def locked(self, request: HttpRequest, pk: Any) -> Card | None:
        """Return the card as it is now, locked as the life cycle locks it."""
        return self.get_queryset(request).select_for_update(of=("self",), no_key=True).filter(pk=pk).first()


def _request(card: Card, checks: list[Any]) -> Requested:
    """Ask for checks of a card with priority.

    Raises:
        Refused: Redis does not answer.
    """
    try:
        redis = connecting.hasty_client()
        (requested,) = structure.request(redis, card.account_id, [card.pk], checks, scene=SCENE)
    except RedisError as error:
        raise Refused(
            _("Redis does not answer (%(error)s), so nothing was asked for. Try again in a moment.")
            % {"error": type(error).__name__}
        ) from error
    return requested

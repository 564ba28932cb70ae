"""The checks of all cards, the failing ones first."""

from django.contrib import admin
from django.db.models import QuerySet
from django.http import HttpRequest
from django.utils.safestring import SafeString
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy

from project.kit.admin import HistoryAdmin, row_link, seen_at, when
from scheduler.polling.admin import cells
from scheduler.polling.admin.filters import CardFilter, CardsAccountFilter, ErrorFilter, FailingFilter
from scheduler.polling.models import CardCheck


@admin.register(CardCheck)
class CardCheckAdmin(HistoryAdmin):
    """The checks."""

    list_display = ("of_card", "of_account", "type", "standing", "brought", "as_of_when", "why", "since", "due")
    list_display_links = None
    list_filter = (FailingFilter, "type", ErrorFilter, CardsAccountFilter, CardFilter)
    search_fields = ("card__iccid",)  # see get_search_results
    search_help_text = gettext_lazy("ICCID of a card, or its beginning")

    def get_ordering(self, request: HttpRequest) -> tuple[str, ...]:
        """Return the order: of all checks that of an index; the failing ones are few, and those come first that failed
        last."""
        if request.GET.get(str(FailingFilter.parameter_name)) == FailingFilter.EVERY:
            return ("-card_id", "-type")
        return ("-last_failed_at", "-id")

    def for_list(self, rows: QuerySet[CardCheck]) -> QuerySet[CardCheck]:
        """Return the rows with their cards and accounts, of the latter no secrets."""
        found = rows.select_related("card__account")
        return found.defer("card__account__settings", "card__account__credentials")

    def get_search_results(
        self, request: HttpRequest, queryset: QuerySet[CardCheck], search_term: str
    ) -> tuple[QuerySet[CardCheck], bool]:
        """Find the checks of the cards of that number."""
        term = search_term.strip()
        return (queryset.filter(card__iccid__startswith=term) if term else queryset), False

    @admin.display(description=gettext_lazy("card"))
    def of_card(self, check: CardCheck) -> SafeString:
        """Of which card."""
        return row_link(check.card)

    @admin.display(description=gettext_lazy("account"))
    def of_account(self, check: CardCheck) -> SafeString:
        """Of whose card."""
        return row_link(check.card.account)

    @admin.display(description=gettext_lazy("state"))
    def standing(self, check: CardCheck) -> SafeString:
        """How it is doing."""
        return cells.check_badge(check, seen_at(check))

    @admin.display(description=gettext_lazy("value"))
    def brought(self, check: CardCheck) -> SafeString:
        """What it brought last."""
        return cells.value(check)

    @admin.display(description=gettext_lazy("as of"))
    def as_of_when(self, check: CardCheck) -> SafeString:
        """For when the carrier said so."""
        instant = check.as_of or check.succeeded_at
        return cells.named(_("as of"), when(instant, seen_at(check)) if instant else "")

    @admin.display(description=gettext_lazy("error"))
    def why(self, check: CardCheck) -> SafeString:
        """Why it failed last."""
        return cells.error(check) if check.failures else SafeString()

    @admin.display(description=gettext_lazy("fails since"))
    def since(self, check: CardCheck) -> SafeString:
        """Since when it fails."""
        since = check.first_failed_at
        return cells.named(_("since"), when(since, seen_at(check)) if since else "")

    @admin.display(description=gettext_lazy("due"))
    def due(self, check: CardCheck) -> SafeString:
        """When it is made again."""
        return cells.named(_("due"), when(check.due_at, seen_at(check)))

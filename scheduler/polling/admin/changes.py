"""The history of what changed at cards."""

from django.contrib import admin
from django.db.models import QuerySet
from django.utils.safestring import SafeString
from django.utils.translation import gettext_lazy

from project.kit.admin import row_link, seen_at, when
from scheduler.polling.admin import card_page
from scheduler.polling.admin.filters import CardFilter, ChangedFieldFilter
from scheduler.polling.admin.searching import SearchedByCard
from scheduler.polling.models import CardChange


@admin.register(CardChange)
class CardChangeAdmin(SearchedByCard):
    """The changes."""

    list_display = ("happened", "of_card", "what", "change")
    list_display_links = None
    list_filter = (ChangedFieldFilter, CardFilter)
    ordering = ("-id",)

    def for_list(self, rows: QuerySet[CardChange]) -> QuerySet[CardChange]:
        """Return the rows with their cards."""
        return rows.select_related("card")

    @admin.display(description=gettext_lazy("at"))
    def happened(self, change: CardChange) -> SafeString:
        """When it changed."""
        return when(change.at, seen_at(change))

    @admin.display(description=gettext_lazy("card"))
    def of_card(self, change: CardChange) -> SafeString:
        """Of which card."""
        return row_link(change.card)

    @admin.display(description=gettext_lazy("what"))
    def what(self, change: CardChange) -> str:
        """What changed."""
        return card_page.field_label(change.field)

    @admin.display(description=gettext_lazy("change"))
    def change(self, change: CardChange) -> SafeString:
        """What it was, and what it became."""
        return card_page.changed(change)

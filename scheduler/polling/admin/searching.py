"""How lists of what belongs to cards are searched."""

from typing import Any

from django.db.models import QuerySet
from django.http import HttpRequest
from django.utils.translation import gettext_lazy

from project.kit.admin import HistoryAdmin
from scheduler.polling.models import Card

# So many cards at most are looked for: their rows are then found by the index of the card.
CARDS_FOUND = 1000


class SearchedByCard(HistoryAdmin):
    """A history whose rows have a card, found by the beginning of its number."""

    search_fields = ("card__iccid",)  # see get_search_results
    search_help_text = gettext_lazy("ICCID of a card, or its beginning")

    def get_search_results(
        self, request: HttpRequest, queryset: QuerySet[Any], search_term: str
    ) -> tuple[QuerySet[Any], bool]:
        """Find the rows of the cards of that number."""
        term = search_term.strip()
        if not term:
            return queryset, False
        cards = list(Card.objects.filter(iccid__startswith=term).values_list("pk", flat=True)[:CARDS_FOUND])
        return queryset.filter(card__in=cards), False

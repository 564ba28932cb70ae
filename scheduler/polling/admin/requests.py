"""What was asked for beside the schedule, and the looks that follow it."""

import json

from django.contrib import admin
from django.db.models import F, Func, IntegerField, QuerySet
from django.http import HttpRequest
from django.urls import reverse
from django.utils.html import format_html
from django.utils.safestring import SafeString
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy

from project.kit.admin import HistoryAdmin, badge, row_link, seen_at, when
from scheduler.polling.admin import cells
from scheduler.polling.admin.filters import CardFilter, CheckRequestFilter
from scheduler.polling.admin.searching import SearchedByCard
from scheduler.polling.models import CheckRequest, Confirmation
from scheduler.polling.states import ConfirmationState, RequestOutcome

CONFIRMATION_COLOURS = {
    ConfirmationState.WAITING: "blue",
    ConfirmationState.CONFIRMED: "green",
    ConfirmationState.OVER: "amber",
    ConfirmationState.CANCELLED: "grey",
}


@admin.register(CheckRequest)
class CheckRequestAdmin(HistoryAdmin):
    """The requests."""

    list_display = ("happened", "scene", "event_id", "cards", "became", "looks", "actor")
    list_display_links = None
    list_filter = ("scene",)
    search_fields = ("event_id",)  # see get_search_results
    search_help_text = gettext_lazy("an event, as it was named")
    ordering = ("-id",)

    def for_list(self, rows: QuerySet[CheckRequest]) -> QuerySet[CheckRequest]:
        """Return the rows with their scenes, and of their cards only how many."""
        counted = Func(F("card_ids"), function="cardinality", output_field=IntegerField())
        return rows.select_related("scene").defer("card_ids", "expected").annotate(count=counted)

    def get_search_results(
        self, request: HttpRequest, queryset: QuerySet[CheckRequest], search_term: str
    ) -> tuple[QuerySet[CheckRequest], bool]:
        """Find the request of that event."""
        term = search_term.strip()
        return (queryset.filter(event_id=term) if term else queryset), False

    @admin.display(description=gettext_lazy("at"))
    def happened(self, request: CheckRequest) -> SafeString:
        """When it was asked for."""
        return when(request.at, seen_at(request))

    @admin.display(description=gettext_lazy("cards"))
    def cards(self, request: CheckRequest) -> SafeString:
        """How many cards are meant."""
        return cells.named(_("cards"), f"{vars(request)['count']:,}")

    @admin.display(description=gettext_lazy("what became of them"))
    def became(self, request: CheckRequest) -> str | SafeString:
        """What became of the cards, once the live orders were told."""
        if request.asked_at is None:
            return badge(_("to be passed on"), "blue")
        return ", ".join(f"{count:,} {RequestOutcome(word).label}" for word, count in request.outcome.items())

    @admin.display(description=gettext_lazy("looks"))
    def looks(self, request: CheckRequest) -> SafeString:
        """The way to the looks that follow it, where its scene has any."""
        if not request.scene.confirm_delays:
            return SafeString()
        address = reverse("admin:polling_confirmation_changelist", query={"request": request.pk})
        return format_html('<a href="{}">{}</a>', address, _("looks"))


@admin.register(Confirmation)
class ConfirmationAdmin(SearchedByCard):
    """The looks."""

    list_display = ("of_card", "type", "standing", "expects", "taken", "next", "end", "follows")
    list_display_links = None
    list_filter = ("state", "type", CardFilter, CheckRequestFilter)
    ordering = ("-id",)

    def for_list(self, rows: QuerySet[Confirmation]) -> QuerySet[Confirmation]:
        """Return the rows with their cards and what they follow."""
        return rows.select_related("card", "request", "operation").defer("request__card_ids", "request__expected")

    @admin.display(description=gettext_lazy("card"))
    def of_card(self, looked: Confirmation) -> SafeString:
        """At which card is looked."""
        return row_link(looked.card)

    @admin.display(description=gettext_lazy("state"))
    def standing(self, looked: Confirmation) -> SafeString:
        """Whether the expected result was seen."""
        return badge(looked.get_state_display(), CONFIRMATION_COLOURS[ConfirmationState(looked.state)])

    @admin.display(description=gettext_lazy("expected"))
    def expects(self, looked: Confirmation) -> SafeString:
        """What is expected; nothing: every look is taken."""
        said = "" if looked.expected is None else json.dumps(looked.expected, ensure_ascii=False)
        return cells.named(_("expected"), said)

    @admin.display(description=gettext_lazy("looks taken"))
    def taken(self, looked: Confirmation) -> SafeString:
        """How many looks were taken, and how many are left."""
        left = len(looked.delays) + (looked.state == ConfirmationState.WAITING)
        return cells.named(_("looks"), _("%(taken)s of %(all)s") % {"taken": looked.looks, "all": looked.looks + left})

    @admin.display(description=gettext_lazy("next"))
    def next(self, looked: Confirmation) -> SafeString:
        """From when the next look is taken."""
        waits = looked.state == ConfirmationState.WAITING
        return cells.named(_("next"), when(looked.due_at, seen_at(looked)) if waits else "")

    @admin.display(description=gettext_lazy("ended"))
    def end(self, looked: Confirmation) -> SafeString:
        """When it ended."""
        return cells.named(_("ended"), when(looked.ended_at, seen_at(looked)) if looked.ended_at else "")

    @admin.display(description=gettext_lazy("follows"))
    def follows(self, looked: Confirmation) -> str | SafeString:
        """What it follows: an event, or a stop or resume."""
        return row_link(looked.operation) if looked.operation else str(looked.request)

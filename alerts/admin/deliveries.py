"""Deliveries: what was told to which channel, and how that went."""

from django.contrib import admin
from django.db.models import QuerySet
from django.utils.html import format_html
from django.utils.safestring import SafeString
from django.utils.translation import gettext_lazy

from alerts.admin import cells
from alerts.admin.filters import ChannelFilter
from alerts.models import Delivery
from project.kit.admin import HistoryAdmin, row_link, seen_at, short, when


@admin.register(Delivery)
class DeliveryAdmin(HistoryAdmin):
    """The deliveries."""

    list_display = ("number", "happened", "tells", "channel_name", "standing", "tries", "code", "why", "ends")
    list_display_links = None
    list_filter = ("state", ChannelFilter)
    ordering = ("-id",)

    def for_list(self, rows: QuerySet[Delivery]) -> QuerySet[Delivery]:
        """Return the rows with what they tell and to whom, without secrets."""
        found = rows.select_related("event__alert", "channel")
        return found.defer("channel__address", "channel__secrets", "event__text", "event__alert__sentence")

    @admin.display(description=gettext_lazy("delivery"))
    def number(self, delivery: Delivery) -> str:
        """Its number."""
        return f"#{delivery.pk}"

    @admin.display(description=gettext_lazy("at"))
    def happened(self, delivery: Delivery) -> SafeString:
        """When what it tells happened."""
        return when(delivery.event.at, seen_at(delivery))

    @admin.display(description=gettext_lazy("tells"))
    def tells(self, delivery: Delivery) -> SafeString:
        """What it tells."""
        event = delivery.event
        about = row_link(event.alert, event.title) if event.alert else event.title
        return format_html("{} {}", cells.telling_badge(event), about)

    @admin.display(description=gettext_lazy("channel"))
    def channel_name(self, delivery: Delivery) -> SafeString:
        """To whom."""
        return row_link(delivery.channel)

    @admin.display(description=gettext_lazy("state"))
    def standing(self, delivery: Delivery) -> SafeString:
        """Where it stands."""
        return cells.delivery_badge(delivery)

    @admin.display(description=gettext_lazy("what that means"))
    def why(self, delivery: Delivery) -> SafeString:
        """What the answer means."""
        return short(delivery.meaning)

    @admin.display(description=gettext_lazy("ended, or due"))
    def ends(self, delivery: Delivery) -> SafeString:
        """When it ended, or is due."""
        return when(delivery.ended_at or delivery.due_at, seen_at(delivery))

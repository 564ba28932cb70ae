"""Channels: the list, the page of one, its form, and the test message."""

from typing import Any

from django.contrib import admin
from django.db.models import QuerySet
from django.http import HttpRequest
from django.utils.safestring import SafeString
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy

from alerts.admin import cells, channel_page
from alerts.admin.channel_actions import CHANNEL_ACTIONS, TEST
from alerts.admin.channel_form import FIELDSETS, ChannelForm
from alerts.kinds import kind_label
from alerts.models import Channel
from alerts.states import DeliveryOutcome
from alerts.testing import in_words, send_test
from project.kit.admin import (
    Done,
    EditedApartMixin,
    ObjectAction,
    ReasonForm,
    seen_at,
    short,
    when,
)
from project.kit.admin.object_actions import Refused
from project.kit.clock import database_now
from project.kit.versions import StaleVersion

REFRESH_SECONDS = 5


@admin.register(Channel)
class ChannelAdmin(EditedApartMixin):
    """The channels."""

    list_display = ("name", "standing", "goes_to", "way", "what", "level", "sent", "error")
    search_fields = ("name", "address_shown")
    search_help_text = gettext_lazy("name or host")
    ordering = ("name",)
    sortable_by = ("name",)
    form = ChannelForm
    fieldsets = FIELDSETS
    change_form_template = "admin/alerts/channel/change_form.html"
    page_template = "admin/object_page.html"
    fragment_template = "admin/alerts/channel/page.html"
    object_actions = CHANNEL_ACTIONS
    refusals = (StaleVersion,)

    # --- the list ----------------------------------------------------------------------------------------------

    def for_list(self, rows: QuerySet[Channel]) -> QuerySet[Channel]:
        """Return the rows without their secrets."""
        return rows.defer("address", "secrets")

    @admin.display(description=gettext_lazy("state"))
    def standing(self, channel: Channel) -> SafeString:
        """How it is doing."""
        return cells.channel_badge(channel, seen_at(channel))

    @admin.display(description=gettext_lazy("goes to"))
    def goes_to(self, channel: Channel) -> str:
        """Its host."""
        return channel.address_shown

    @admin.display(description=gettext_lazy("format"))
    def way(self, channel: Channel) -> str:
        """How its messages are written."""
        return cells.format_label(channel.format)

    @admin.display(description=gettext_lazy("kinds"))
    def what(self, channel: Channel) -> SafeString:
        """Of what it is told."""
        return short(", ".join(map(kind_label, channel.kinds)) or _("every problem"), 60)

    @admin.display(description=gettext_lazy("from"))
    def level(self, channel: Channel) -> SafeString:
        """From which severity on."""
        return cells.severity_badge(channel.least_severity)

    @admin.display(description=gettext_lazy("last sent"))
    def sent(self, channel: Channel) -> SafeString:
        """When a message was last taken."""
        return when(channel.last_sent_at, seen_at(channel))

    @admin.display(description=gettext_lazy("last error"))
    def error(self, channel: Channel) -> SafeString:
        """What went wrong last."""
        return short(channel.last_error, 60)

    # --- the page ----------------------------------------------------------------------------------------------

    def page_context(self, request: HttpRequest, row: Channel) -> dict[str, Any]:
        """Return what the page shows of a channel."""
        return {
            "channel": row,
            "actions": [*self.offered_actions(request, row), *self.edit_links(request, row)],
            "refresh_seconds": REFRESH_SECONDS,
            **channel_page.overview(row, seen_at(row)),
        }

    def has_delete_permission(self, request: HttpRequest, obj: Any = None) -> bool:
        """Say that nobody may: a channel stays with what it was told, and is turned off."""
        return False

    # --- the form ----------------------------------------------------------------------------------------------

    def save_model(self, request: HttpRequest, obj: Channel, form: ChannelForm, change: bool) -> None:
        """Save through the domain, which settles the format and raises the version."""
        form.store(obj, now=database_now())

    # --- the actions -------------------------------------------------------------------------------------------

    def perform(self, request: HttpRequest, action: ObjectAction, pk: Any, seen: str, form: ReasonForm) -> Done:
        """Perform the action; a test message goes out after the transaction that looked at the channel."""
        done = super().perform(request, action, pk, seen, form)
        if action is not TEST:
            return done
        verdict = send_test(Channel.objects.get(pk=pk), now=database_now())
        if verdict.outcome != DeliveryOutcome.SENT:
            raise Refused(in_words(verdict))
        return Done(in_words(verdict))

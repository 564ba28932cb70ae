"""Devices, with the cards that are in them."""

from typing import Any

from django.contrib import admin
from django.db.models import Prefetch, QuerySet
from django.http import HttpRequest
from django.urls import reverse
from django.utils.html import format_html, format_html_join
from django.utils.safestring import SafeString
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy

from project.kit.admin import DASH, VersionLockMixin, row_link
from scheduler.polling.admin import cells
from scheduler.polling.models import Card, Device


@admin.register(Device)
class DeviceAdmin(VersionLockMixin):
    """The devices."""

    list_display = ("code", "name", "cards_in_it")
    search_fields = ("code__startswith", "name__istartswith")
    search_help_text = gettext_lazy("beginning of its code or name")
    ordering = ("code",)
    sortable_by = ()
    fields = ("code", "name", "cards_on_page")
    readonly_fields = ("cards_on_page",)

    def for_list(self, rows: QuerySet[Device]) -> QuerySet[Device]:
        """Return the rows with their cards: a device has few."""
        cards = Card.objects.select_related("account").defer("account__settings", "account__credentials")
        return rows.prefetch_related(Prefetch("cards", cards.order_by("pk")))

    @admin.display(description=gettext_lazy("cards"))
    def cards_in_it(self, device: Device) -> SafeString:
        """Which cards are in it, and of which account each is."""
        lines = ((row_link(card), card.account) for card in device.cards.all())
        return format_html_join("", '<div>{} <span class="quiet">{}</span></div>', lines) or DASH

    @admin.display(description=gettext_lazy("cards"))
    def cards_on_page(self, device: Device) -> SafeString:
        """The way to its cards."""
        if device.pk is None:
            return DASH
        cards = device.cards.select_related("account").order_by("pk")
        lines = ((row_link(card), cells.state_badge(card.state), card.account) for card in cards)
        shown = format_html_join("", '<div>{} {} <span class="quiet">{}</span></div>', lines)
        address = f"{reverse('admin:polling_card_changelist')}?device={device.pk}"
        return format_html('{} <a href="{}">{}</a>', shown, address, _("list"))

    def has_delete_permission(self, request: HttpRequest, obj: Any = None) -> bool:
        """Say that nobody may: its cards would lose it past their life cycle."""
        return False

"""Carrier accounts."""

from django.contrib import admin

from project.kit.admin import HistoryAdmin
from scheduler.polling.models import CarrierAccount


@admin.register(CarrierAccount)
class CarrierAccountAdmin(HistoryAdmin):
    """The accounts."""

    list_display = ("name", "gateway", "active", "held_until", "held_class")
    exclude = ("credentials",)
    search_fields = ("name",)
    ordering = ("name",)

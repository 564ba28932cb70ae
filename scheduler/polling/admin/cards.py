"""Cards."""

from django.contrib import admin

from project.kit.admin import HistoryAdmin
from scheduler.polling.models import Card


@admin.register(Card)
class CardAdmin(HistoryAdmin):
    """The cards."""

    list_display = ("iccid", "account", "state", "real_name_state", "package", "polling_enabled")
    list_select_related = ("account",)
    search_fields = ("iccid", "msisdn", "imsi")
    ordering = ("-id",)

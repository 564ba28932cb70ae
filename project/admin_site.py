"""The control panel's site."""

from typing import Any

from django.conf import settings
from django.contrib.admin import AdminSite
from django.http import HttpRequest
from django.template.response import TemplateResponse
from django.urls import path
from django.utils.translation import gettext_lazy as _

# How the navigation is ordered: what is looked at daily first. What is not named follows by its own name.
APP_ORDER = ("scheduler", "polling", "alerts", "quotas", "project", "django_celery_beat", "auth", "admin")
MODEL_ORDER = (
    "Schedule",
    "TaskRun",
    "Approval",
    "Backfill",
    "Fire",
    "Attempt",
    "RunEvent",
    "Calendar",
    "CalendarDay",
    "CarrierAccount",
    "Card",
    "CardCheck",
    "PollingTier",
    "CheckScene",
    "CheckRequest",
    "Confirmation",
    "CardOperation",
    "CardChange",
    "Device",
    "SystemSetting",
    "Cutover",
    "Alert",
    "Channel",
    "Delivery",
    "Silence",
    "Quota",
    "LedgerEntry",
    "Reservation",
    "Edge",
    "ProviderReport",
)


class TidelineAdminSite(AdminSite):
    """The Django admin under Tideline's name, with a home page of its own."""

    site_title = _("Tideline")
    site_header = _("Tideline")
    index_title = _("Control panel")
    site_url = None
    empty_value_display = ""

    def each_context(self, request: HttpRequest) -> dict[str, Any]:
        """Return what every page knows."""
        return {**super().each_context(request), "two_factor": settings.TIDELINE_TWO_FACTOR}

    def index(self, request: HttpRequest, extra_context: dict[str, Any] | None = None) -> TemplateResponse:
        """Show the home page."""
        from project.dashboard import home  # the site is made before the models are loaded

        return super().index(request, {"home": home(request), **(extra_context or {})})

    def get_urls(self) -> list[Any]:
        """Return the addresses of the site with that of the second factor, which asks before anybody is in."""
        from project.two_factor.views import second_factor

        return [path("two-factor/", second_factor, name="two_factor"), *super().get_urls()]

    def get_app_list(self, request: HttpRequest, app_label: str | None = None) -> list[Any]:
        """Return the apps and their models in the order in which they are used."""
        apps = super().get_app_list(request, app_label)
        for app in apps:
            app["models"].sort(key=lambda model: _place(MODEL_ORDER, model["object_name"]))
        return sorted(apps, key=lambda app: _place(APP_ORDER, app["app_label"]))


def _place(order: tuple[str, ...], name: str) -> int:
    return order.index(name) if name in order else len(order)

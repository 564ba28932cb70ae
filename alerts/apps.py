"""The Django app of the alerts."""

from django.apps import AppConfig
from django.utils.translation import gettext_lazy as _


class AlertsConfig(AppConfig):
    """Who must know."""

    name = "alerts"
    verbose_name = _("Alerts")
    default_auto_field = "django.db.models.BigAutoField"

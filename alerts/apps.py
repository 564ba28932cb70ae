"""The Django app of the alerts."""

from django.apps import AppConfig
from django.utils.translation import gettext_lazy as _


class AlertsConfig(AppConfig):
    """Who must know."""

    name = "alerts"
    verbose_name = _("Alerts")
    default_auto_field = "django.db.models.BigAutoField"

    def ready(self) -> None:
        """Record as an alert whatever a person should know of, and register this app's system checks."""
        from alerts import checks  # noqa: F401
        from alerts.attention import attention_needed
        from alerts.recording import record_attention

        attention_needed.connect(record_attention)

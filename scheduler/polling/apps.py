"""The polling app, within the scheduler."""

from django.apps import AppConfig
from django.utils.translation import gettext_lazy as _


class PollingConfig(AppConfig):
    """Asks carriers about cards."""

    name = "scheduler.polling"
    label = "polling"
    verbose_name = _("Carrier polling")
    default_auto_field = "django.db.models.BigAutoField"

    def ready(self) -> None:
        """Register this app's system checks."""
        from scheduler.polling import checks  # noqa: F401

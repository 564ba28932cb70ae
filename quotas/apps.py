"""The Django app of the quotas."""

from django.apps import AppConfig
from django.utils.translation import gettext_lazy as _


class QuotasConfig(AppConfig):
    """How much may be spent."""

    name = "quotas"
    verbose_name = _("Quotas")
    default_auto_field = "django.db.models.BigAutoField"

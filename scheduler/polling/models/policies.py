"""The rows of what an operator decides: how often which cards are checked, and the settings of the polling."""

from django.contrib.postgres.fields import ArrayField
from django.db import models
from django.db.models import Q
from django.utils.translation import gettext_lazy as _

from scheduler.polling.states import CardState, CheckType, RealName


class PollingTier(models.Model):
    """Which cards are checked how often. The first that matches a card counts; empty conditions match any."""

    position = models.PositiveIntegerField(_("position"), unique=True)
    name = models.CharField(_("name"), max_length=100)
    states = ArrayField(
        models.CharField(max_length=12, choices=CardState), verbose_name=_("states"), default=list, blank=True
    )
    real_name_states = ArrayField(
        models.CharField(max_length=12, choices=RealName), verbose_name=_("real names"), default=list, blank=True
    )
    packages = ArrayField(models.CharField(max_length=100), verbose_name=_("packages"), default=list, blank=True)
    usage_from_percent = models.PositiveIntegerField(_("used from"), null=True, blank=True, help_text=_("percent"))
    usage_below_percent = models.PositiveIntegerField(_("used below"), null=True, blank=True, help_text=_("percent"))

    # seconds between two checks; empty: that is not checked
    real_name_seconds = models.PositiveIntegerField(_("real name each"), null=True, blank=True, help_text=_("seconds"))
    usage_seconds = models.PositiveIntegerField(_("usage each"), null=True, blank=True, help_text=_("seconds"))
    card_status_seconds = models.PositiveIntegerField(_("status each"), null=True, blank=True, help_text=_("seconds"))
    package_seconds = models.PositiveIntegerField(_("package each"), null=True, blank=True, help_text=_("seconds"))

    version = models.PositiveIntegerField(default=1, editable=False)

    class Meta:
        verbose_name = _("tier")
        verbose_name_plural = _("tiers")
        ordering = ("position",)
        constraints = (
            *(
                models.CheckConstraint(
                    name=f"tier_{check}_takes_time",
                    condition=Q(**{f"{check}_seconds__isnull": True}) | Q(**{f"{check}_seconds__gt": 0}),
                )
                for check in CheckType.values
            ),
        )

    def __str__(self) -> str:
        return self.name


class SystemSetting(models.Model):
    """A setting that somebody changed; what may be set, and the defaults, are in system_settings."""

    key = models.CharField(_("key"), max_length=100, primary_key=True)
    value = models.JSONField(_("value"))
    changed_by = models.CharField(_("changed by"), max_length=200, blank=True)
    changed_at = models.DateTimeField(_("changed"))
    version = models.PositiveIntegerField(default=1, editable=False)

    class Meta:
        verbose_name = _("setting")
        verbose_name_plural = _("settings")
        ordering = ("key",)

    def __str__(self) -> str:
        return self.key

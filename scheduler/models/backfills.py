"""The row of a backfill."""

from django.core.validators import MinValueValidator
from django.db import models
from django.db.models import F, Q
from django.utils.translation import gettext_lazy as _

from scheduler.models.schedules import Schedule


class Backfill(models.Model):
    """A range of data days that a person had a schedule run for: one run a day, at most `parallel` at once."""

    schedule = models.ForeignKey(Schedule, models.PROTECT, related_name="backfills", verbose_name=_("schedule"))
    first_day = models.DateField(_("first data day"))
    last_day = models.DateField(_("last data day"))
    parallel = models.PositiveIntegerField(_("at once"), default=1, validators=[MinValueValidator(1)])
    reason = models.TextField(_("reason"), blank=True)
    created_at = models.DateTimeField(_("asked"))
    created_by = models.CharField(_("by"), max_length=200)
    cancelled_at = models.DateTimeField(_("cancelled"), null=True, blank=True)
    cancelled_by = models.CharField(_("cancelled by"), max_length=200, blank=True)

    class Meta:
        verbose_name = _("backfill")
        verbose_name_plural = _("backfills")
        ordering = ("-id",)
        permissions = (("cancel_backfill", _("Can cancel what is left of a backfill")),)
        constraints = (
            models.CheckConstraint(name="backfill_goes_forward", condition=Q(first_day__lte=F("last_day"))),
            models.CheckConstraint(name="backfill_is_bounded", condition=Q(parallel__gte=1)),
        )

    def __str__(self) -> str:
        return f"{self.schedule} {self.first_day} to {self.last_day}"

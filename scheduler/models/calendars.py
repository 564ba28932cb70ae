"""The rows of a calendar: dates on which schedules do not fire."""

from django.db import models
from django.utils.translation import gettext_lazy as _


class Calendar(models.Model):
    """Excluded dates under a name, shared by schedules. A date is one of the schedule's own zone."""

    name = models.CharField(_("name"), max_length=200, unique=True)
    description = models.TextField(_("description"), blank=True)

    class Meta:
        verbose_name = _("calendar")
        verbose_name_plural = _("calendars")
        ordering = ("name",)

    def __str__(self) -> str:
        return self.name


class CalendarDay(models.Model):
    """One excluded date of a calendar, and what it is."""

    calendar = models.ForeignKey(Calendar, models.CASCADE, related_name="days", verbose_name=_("calendar"))
    date = models.DateField(_("date"))
    title = models.CharField(_("title"), max_length=200, blank=True)

    class Meta:
        verbose_name = _("excluded date")
        verbose_name_plural = _("excluded dates")
        ordering = ("date",)
        constraints = (models.UniqueConstraint(name="calendar_day_once", fields=["calendar", "date"]),)

    def __str__(self) -> str:
        return f"{self.date} {self.title}".rstrip()

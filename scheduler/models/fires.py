"""The row of a fire."""

from django.db import models
from django.db.models import Q
from django.utils.translation import gettext_lazy as _

from scheduler.models.schedules import Schedule
from scheduler.states import FireKind, FireOutcome


class Fire(models.Model):
    """One due time of a schedule that was claimed: it started a run, or says why it did not."""

    # without an index of its own: see fire_latest_of_schedule
    schedule = models.ForeignKey(
        Schedule, models.PROTECT, db_index=False, related_name="fires", verbose_name=_("schedule")
    )
    fire_at = models.DateTimeField(_("due at"))
    kind = models.CharField(_("kind"), max_length=10, choices=FireKind)
    outcome = models.CharField(_("outcome"), max_length=20, choices=FireOutcome)
    reason = models.TextField(_("reason"), blank=True)
    # For skips that stand for several due instants: the first, the last and how many.
    missed_from = models.DateTimeField(_("first missed"), null=True, blank=True)
    missed_until = models.DateTimeField(_("last missed"), null=True, blank=True)
    missed_count = models.PositiveIntegerField(_("missed"), null=True, blank=True)
    actor = models.CharField(_("by"), max_length=200, blank=True)
    recorded_at = models.DateTimeField(_("recorded"))

    class Meta:
        verbose_name = _("fire")
        verbose_name_plural = _("fires")
        ordering = ("-fire_at", "-id")
        indexes = (
            # the schedule page's last fires
            models.Index("schedule", models.F("fire_at").desc(), name="fire_latest_of_schedule"),
            models.Index(models.F("fire_at").desc(), models.F("id").desc(), name="fire_latest"),
        )
        constraints = (
            models.UniqueConstraint(name="fire_once", fields=["schedule", "fire_at", "kind"]),
            # A planned instant is fired or skipped once, whether on time or made up.
            models.UniqueConstraint(
                name="fire_planned_once",
                fields=["schedule", "fire_at"],
                condition=Q(kind__in=[FireKind.SCHEDULED, FireKind.MISFIRE]),
            ),
            models.CheckConstraint(
                name="fire_without_run_says_why", condition=Q(outcome=FireOutcome.STARTED) | ~Q(reason="")
            ),
        )

    def __str__(self) -> str:
        return f"{self.schedule} @ {self.fire_at:%Y-%m-%d %H:%M:%S} UTC"

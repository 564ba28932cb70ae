"""The rows of a run's pauses: what it waits for, and how it was resumed."""

from django.db import models
from django.db.models import Q
from django.utils.translation import gettext_lazy as _

from quotas.models import Quota
from quotas.states import WaitReason
from scheduler.models.runs import TaskRun
from scheduler.states import EventTrigger


class Pause(models.Model):
    """How a run stands with its quotas: written when it is paused first, and kept."""

    class Held(models.TextChoices):
        """Why a paused run is not resumed by itself, though its quotas may allow it."""

        AGREEMENT = "agreement", _("a person has to agree each time")
        LIMIT = "limit", _("it was resumed as often as it may be")
        SETBACKS = "setbacks", _("it paused again each time without getting anywhere")

    run = models.OneToOneField(TaskRun, models.CASCADE, primary_key=True, related_name="pause", verbose_name=_("run"))
    since = models.DateTimeField(_("paused since"))
    resume_count = models.PositiveIntegerField(_("resumed"), default=0)
    last_resumed_at = models.DateTimeField(_("last resumed"), null=True, blank=True)
    last_trigger = models.CharField(_("last resumed by"), max_length=20, choices=EventTrigger, blank=True)
    # In a row: resumed, and not begun in time, or paused again without getting anywhere.
    setbacks = models.PositiveIntegerField(_("setbacks in a row"), default=0)
    not_before = models.DateTimeField(_("not resumed before"), null=True, blank=True)
    held = models.CharField(_("held"), max_length=10, choices=Held, blank=True)

    class Meta:
        verbose_name = _("pause")
        verbose_name_plural = _("pauses")
        indexes = (
            # resuming.resume_after_delays
            models.Index(
                fields=["not_before"], name="pause_delay_ends", condition=Q(not_before__isnull=False, held="")
            ),
        )

    def __str__(self) -> str:
        return f"#{self.run_id}"


class QuotaWait(models.Model):
    """That a paused run waits for a quota. Its rows mean something only while the run is PAUSED or RESUMING."""

    run = models.ForeignKey(TaskRun, models.CASCADE, db_index=False, related_name="waits", verbose_name=_("run"))
    quota = models.ForeignKey(Quota, models.PROTECT, related_name="+", verbose_name=_("quota"))
    amount = models.BigIntegerField(_("amount"))
    why = models.CharField(_("why"), max_length=20, choices=WaitReason)
    since = models.DateTimeField(_("since"))
    expected_at = models.DateTimeField(_("expected back at"), null=True, blank=True)

    class Meta:
        verbose_name = _("wait")
        verbose_name_plural = _("waits")
        constraints = (
            models.UniqueConstraint(name="wait_once", fields=["run", "quota"]),
            models.CheckConstraint(name="wait_is_for_something", condition=Q(amount__gt=0)),
        )

    def __str__(self) -> str:
        return f"#{self.run_id} {self.quota_id}: {self.amount}"

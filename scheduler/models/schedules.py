"""The row of a schedule."""

from django.contrib.postgres.fields import ArrayField
from django.core.serializers.json import DjangoJSONEncoder
from django.core.validators import MinValueValidator
from django.db import models
from django.db.models import Q
from django.utils.translation import gettext_lazy as _

from quotas.models import Quota
from scheduler import cron
from scheduler.cron import Cron, Interval, Once, Trigger, TriggerError
from scheduler.models.calendars import Calendar


class Schedule(models.Model):
    """When a job is to run, in which zone, and what happens when it is late, overlaps or fails."""

    class TriggerKind(models.TextChoices):
        """Which of the three rules says when."""

        CRON = "cron", _("cron")
        INTERVAL = "interval", _("interval")
        ONCE = "once", _("once")

    class Overlap(models.TextChoices):
        """What happens when it is due while an earlier run has not ended."""

        SKIP = "skip", _("skip the new one")
        QUEUE = "queue", _("queue: the new one waits for the one before")
        ALLOW = "allow", _("allow both at once")

    class OnExcluded(models.TextChoices):
        """What happens to a due time on a day that its calendar excludes."""

        SKIP = "skip", _("skip the fire")
        MOVE = "move", _("move to the next allowed day")

    class OnInterrupt(models.TextChoices):
        """What happens to a run whose worker was lost."""

        RESUME = "resume", _("go on where it was")
        SUSPEND = "suspend", _("wait for a person")

    name = models.CharField(_("name"), max_length=200, unique=True)
    description = models.TextField(_("description"), blank=True)
    job = models.CharField(_("job"), max_length=200)
    params = models.JSONField(_("parameters"), default=dict, blank=True, encoder=DjangoJSONEncoder)
    enabled = models.BooleanField(_("enabled"), default=True)
    pause_reason = models.CharField(_("why it is paused"), max_length=500, blank=True)
    paused_by = models.CharField(_("paused by"), max_length=200, blank=True, editable=False)

    trigger = models.CharField(_("trigger"), max_length=10, choices=TriggerKind, default=TriggerKind.CRON)
    cron = models.CharField(
        _("cron expression"), max_length=200, blank=True, help_text=_("minute hour day month weekday")
    )
    interval_seconds = models.PositiveIntegerField(_("interval in seconds"), null=True, blank=True)
    anchor_at = models.DateTimeField(
        _("interval counted from"), null=True, blank=True, help_text=_("empty: from the moment of saving")
    )
    once_at = models.DateTimeField(_("once at"), null=True, blank=True)
    timezone = models.CharField(_("time zone"), max_length=64, default="UTC", help_text=_("an IANA name"))

    starts_at = models.DateTimeField(
        _("starts"), null=True, blank=True, help_text=_("fires from this instant on; empty: at once")
    )
    ends_at = models.DateTimeField(
        _("ends"), null=True, blank=True, help_text=_("fires until this instant; empty: for ever")
    )
    calendar = models.ForeignKey(
        Calendar,
        models.PROTECT,
        null=True,
        blank=True,
        related_name="schedules",
        verbose_name=_("calendar of excluded dates"),
    )
    on_excluded = models.CharField(_("on an excluded date"), max_length=10, choices=OnExcluded, default=OnExcluded.SKIP)
    jitter_seconds = models.PositiveIntegerField(
        _("jitter in seconds"),
        default=0,
        help_text=_("a run starts up to this much later; always the same for the same fire"),
    )
    quiet_from = models.TimeField(
        _("quiet from"), null=True, blank=True, help_text=_("nothing is launched in this local window")
    )
    quiet_until = models.TimeField(_("quiet until"), null=True, blank=True)

    misfire_grace_seconds = models.PositiveIntegerField(
        _("misfire grace in seconds"),
        default=3600,
        help_text=_("how late a missed instant is still made up; later it is recorded as skipped"),
    )
    overlap = models.CharField(
        _("overlap"),
        max_length=10,
        choices=Overlap,
        blank=True,
        help_text=_("empty: queue for what fires at most once a day, skip for what fires more often"),
    )
    stat_date_offset = models.SmallIntegerField(
        _("data day offset"), default=0, help_text=_("days; -1 means yesterday's figures")
    )
    on_interrupt = models.CharField(
        _("when interrupted"), max_length=10, choices=OnInterrupt, default=OnInterrupt.RESUME
    )
    retry_delays = ArrayField(
        models.PositiveIntegerField(),
        verbose_name=_("retry delays in seconds"),
        default=list,
        blank=True,
        help_text=_("one number a retry, for example 60,300,3600; empty: no retry"),
    )
    timeout_seconds = models.PositiveIntegerField(
        _("attempt timeout in seconds"), null=True, blank=True, validators=[MinValueValidator(1)]
    )
    priority = models.SmallIntegerField(_("priority"), default=0, help_text=_("higher goes first"))

    quota = models.ForeignKey(
        Quota,
        models.PROTECT,
        null=True,
        blank=True,
        related_name="+",
        verbose_name=_("quota"),
        help_text=_("its runs wait, without being launched, while this quota is used up"),
    )
    quota_need = models.PositiveBigIntegerField(
        _("needs of it"),
        null=True,
        blank=True,
        validators=[MinValueValidator(1)],
        help_text=_("what a run needs at least; empty: the quota's usual need"),
    )
    resume_limit = models.PositiveIntegerField(
        _("resumed at most"),
        null=True,
        blank=True,
        help_text=_("so often a paused run goes on by itself; empty: as often as its quotas allow"),
    )
    resume_by_hand = models.BooleanField(
        _("resumed by hand only"), default=False, help_text=_("a paused run goes on only after a person agreed")
    )

    # Where it was imported from; the same import twice finds it again.
    origin = models.CharField(_("origin"), max_length=300, null=True, blank=True, unique=True, editable=False)
    # The instant that the next claim fires. Kept while paused, so that enabling can say what was left out.
    next_run_at = models.DateTimeField(_("next run"), null=True, blank=True, editable=False)
    broken_reason = models.TextField(_("why it is unscheduled"), blank=True, editable=False)
    version = models.PositiveIntegerField(default=1, editable=False)
    created_at = models.DateTimeField(_("created"), editable=False)
    updated_at = models.DateTimeField(_("changed"), editable=False)

    class Meta:
        verbose_name = _("schedule")
        verbose_name_plural = _("schedules")
        ordering = ("name",)
        permissions = (
            ("run_schedule", _("Can run a schedule now")),
            ("pause_schedule", _("Can pause and enable a schedule")),
            ("backfill_schedule", _("Can have a schedule run for a range of data days")),
            ("use_command_job", _("Can edit schedules that run shell commands")),
        )
        indexes = (
            # firing.claim_due
            models.Index(fields=["next_run_at"], name="schedule_is_due", condition=Q(enabled=True)),
        )
        constraints = (
            models.CheckConstraint(
                name="schedule_has_its_trigger",
                condition=(
                    Q(trigger="cron") & ~Q(cron="")
                    | Q(trigger="interval", interval_seconds__gt=0, anchor_at__isnull=False)
                    | Q(trigger="once", once_at__isnull=False)
                ),
            ),
            models.CheckConstraint(
                name="schedule_overlap_is_decided", condition=Q(overlap__in=["skip", "queue", "allow"])
            ),
            models.CheckConstraint(
                name="schedule_ends_after_its_start",
                condition=Q(starts_at__isnull=True) | Q(ends_at__isnull=True) | Q(starts_at__lte=models.F("ends_at")),
            ),
            models.CheckConstraint(
                name="schedule_quiet_has_two_ends",
                condition=Q(quiet_from__isnull=True, quiet_until__isnull=True)
                | (Q(quiet_from__isnull=False, quiet_until__isnull=False) & ~Q(quiet_from=models.F("quiet_until"))),
            ),
            models.CheckConstraint(
                name="schedule_broken_is_unscheduled",
                condition=Q(broken_reason="") | Q(next_run_at__isnull=True),
            ),
        )

    def __str__(self) -> str:
        return self.name

    def as_trigger(self) -> Trigger:
        """Return the trigger, within the schedule's start and end, as a pure value.

        Raises:
            cron.TriggerError: the expression, zone or interval cannot be read.
        """
        return cron.bounded(self._unbounded_trigger(), self.starts_at, self.ends_at)

    def _unbounded_trigger(self) -> Cron | Interval | Once:
        if self.trigger == self.TriggerKind.CRON:
            return cron.cron(self.cron, self.timezone)
        cron.zone(self.timezone)
        if self.trigger == self.TriggerKind.INTERVAL:
            return cron.interval(self.interval_seconds, self.anchor_at)
        if self.trigger == self.TriggerKind.ONCE:
            return cron.once(self.once_at)
        kinds = ", ".join(self.TriggerKind.values)
        raise TriggerError("trigger", f"The trigger “{self.trigger}” is not known. There are {kinds}.")

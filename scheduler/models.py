"""The rows that decide. Invariants stand here as constraints, and each index is named after its question."""

from datetime import timedelta
from typing import Any

from django.contrib.postgres.fields import ArrayField
from django.core.serializers.json import DjangoJSONEncoder
from django.core.validators import MinValueValidator
from django.db import models
from django.db.models import Q
from django.utils.translation import gettext_lazy as _

from scheduler import cron
from scheduler.cron import Trigger
from scheduler.states import EXCLUSIVE, AttemptOutcome, EventTrigger, FireKind, FireOutcome, RunState


class Schedule(models.Model):
    """When a job is to run, in which zone, and what happens when it is late, overlaps or fails."""

    class TriggerKind(models.TextChoices):
        CRON = "cron", _("cron")
        INTERVAL = "interval", _("interval")
        ONCE = "once", _("once")

    class Overlap(models.TextChoices):
        SKIP = "skip", _("skip the new one")
        QUEUE = "queue", _("queue: the new one waits for the one before")
        ALLOW = "allow", _("allow both at once")

    class OnInterrupt(models.TextChoices):
        RESUME = "resume", _("go on where it was")
        SUSPEND = "suspend", _("wait for a person")

    name = models.CharField(_("name"), max_length=200, unique=True)
    description = models.TextField(_("description"), blank=True)
    job = models.CharField(_("job"), max_length=200)
    params = models.JSONField(_("parameters"), default=dict, blank=True, encoder=DjangoJSONEncoder)
    enabled = models.BooleanField(_("enabled"), default=True)
    pause_reason = models.CharField(_("why it is paused"), max_length=500, blank=True)

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
                name="schedule_broken_is_unscheduled",
                condition=Q(broken_reason="") | Q(next_run_at__isnull=True),
            ),
        )

    def __str__(self) -> str:
        return self.name

    def as_trigger(self) -> Trigger:
        """Return the trigger as a pure value.

        Raises:
            cron.TriggerError: the expression, zone or interval cannot be read.
        """
        if self.trigger == self.TriggerKind.CRON:
            return cron.cron(self.cron, self.timezone)
        cron.zone(self.timezone)
        if self.trigger == self.TriggerKind.INTERVAL:
            return cron.interval(self.interval_seconds, self.anchor_at)
        return cron.once(self.once_at)


class Fire(models.Model):
    """One due time of a schedule that was claimed: it started a run, or says why it did not."""

    schedule = models.ForeignKey(Schedule, models.PROTECT, related_name="fires", verbose_name=_("schedule"))
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


class TaskRun(models.Model):
    """The durable state of one piece of work for one data day. Only scheduler.transitions writes `state`."""

    schedule = models.ForeignKey(
        Schedule, models.PROTECT, null=True, blank=True, related_name="runs", verbose_name=_("schedule")
    )
    fire = models.OneToOneField(Fire, models.PROTECT, null=True, blank=True, related_name="run", verbose_name=_("fire"))
    rerun_of = models.ForeignKey(
        "self", models.PROTECT, null=True, blank=True, related_name="reruns", verbose_name=_("run again of")
    )
    name = models.CharField(_("name"), max_length=200)
    job = models.CharField(_("job"), max_length=200)
    params = models.JSONField(_("parameters"), default=dict, blank=True, encoder=DjangoJSONEncoder)
    stat_date = models.DateField(_("data day"))
    planned_at = models.DateTimeField(_("planned at"))

    # Copied from the schedule when the run is opened: an edit changes what comes, not what runs.
    priority = models.SmallIntegerField(_("priority"), default=0)
    timeout_seconds = models.PositiveIntegerField(_("attempt timeout in seconds"), null=True, blank=True)
    retry_delays = ArrayField(models.PositiveIntegerField(), default=list, blank=True)
    on_interrupt = models.CharField(max_length=10, choices=Schedule.OnInterrupt, default=Schedule.OnInterrupt.RESUME)
    # Runs with the same key run one after another; null: side by side.
    exclusive_key = models.CharField(max_length=250, null=True, blank=True)

    state = models.CharField(_("state"), max_length=20, choices=RunState, default=RunState.PENDING)
    reason = models.TextField(_("why it is in this state"), blank=True)
    due_at = models.DateTimeField(_("due at"), null=True, blank=True)
    progress = models.JSONField(_("checkpoint"), default=dict, blank=True, encoder=DjangoJSONEncoder)
    progress_done = models.PositiveBigIntegerField(_("done"), null=True, blank=True)
    progress_total = models.PositiveBigIntegerField(_("of"), null=True, blank=True)
    checkpoint_at = models.DateTimeField(_("last checkpoint"), null=True, blank=True)
    result = models.JSONField(_("result"), null=True, blank=True, encoder=DjangoJSONEncoder)

    # The lease. The token only grows and fences every write of the worker that holds it. While a launched run
    # waits for its worker the owner is empty.
    lease_token = models.PositiveBigIntegerField(default=0)
    lease_owner = models.CharField(_("held by"), max_length=200, blank=True)
    lease_pid = models.PositiveIntegerField(null=True, blank=True)
    lease_expires_at = models.DateTimeField(_("lease until"), null=True, blank=True)
    deadline_at = models.DateTimeField(_("times out at"), null=True, blank=True)
    cancel_requested_at = models.DateTimeField(_("cancel asked"), null=True, blank=True)
    cancel_requested_by = models.CharField(max_length=200, blank=True)

    attempt_count = models.PositiveIntegerField(_("attempts"), default=0)
    failure_count = models.PositiveIntegerField(_("failures"), default=0)
    interruption_count = models.PositiveIntegerField(_("interruptions in a row"), default=0)

    created_at = models.DateTimeField(_("opened"))
    started_at = models.DateTimeField(_("started"), null=True, blank=True)
    finished_at = models.DateTimeField(_("ended"), null=True, blank=True)

    class Meta:
        verbose_name = _("run")
        verbose_name_plural = _("runs")
        ordering = ("-id",)
        permissions = (
            ("cancel_taskrun", _("Can cancel a run")),
            ("retry_taskrun", _("Can retry a run or run it again")),
            ("resume_taskrun", _("Can let a suspended run go on")),
        )
        indexes = (
            # launching.launch_due
            models.Index(
                models.F("priority").desc(),
                "due_at",
                "id",
                name="run_is_due",
                condition=Q(due_at__isnull=False),
            ),
            # rescuing.rescue_lost, keeping.held_runs
            models.Index(
                fields=["lease_owner", "lease_expires_at"],
                name="run_is_held",
                condition=Q(state=RunState.RUNNING),
            ),
            # launching: is there an older unfinished run of the key; firing: does one block
            models.Index(
                fields=["exclusive_key", "id"],
                name="run_blocks_its_key",
                condition=Q(finished_at__isnull=True),
            ),
            # firing: was the planned work already done for this data day; the schedule page's strip
            models.Index("schedule", "stat_date", name="run_of_data_day"),
            models.Index("schedule", models.F("id").desc(), name="run_latest_of_schedule"),
            # the lists "failed today" and "ended lately"
            models.Index(models.F("finished_at").desc(), name="run_ended_lately"),
            models.Index(fields=["state", "id"], name="run_unfinished_by_state", condition=Q(finished_at__isnull=True)),
        )
        constraints = (
            models.UniqueConstraint(
                name="run_alone_on_its_key",
                fields=["exclusive_key"],
                condition=Q(state__in=sorted(EXCLUSIVE)),
            ),
            models.CheckConstraint(name="run_state_is_known", condition=Q(state__in=RunState.values)),
            models.CheckConstraint(
                name="run_ended_says_when",
                condition=(
                    Q(finished_at__isnull=False)
                    & (Q(state__in=[RunState.DONE, RunState.CANCELLED]) | Q(state=RunState.FAILED, due_at__isnull=True))
                )
                | (
                    Q(finished_at__isnull=True)
                    & ~Q(state__in=[RunState.DONE, RunState.CANCELLED])
                    & ~Q(state=RunState.FAILED, due_at__isnull=True)
                ),
            ),
            models.CheckConstraint(
                name="run_due_only_while_waiting",
                condition=Q(
                    state__in=[RunState.PENDING, RunState.DEFERRED, RunState.RESUMING],
                    due_at__isnull=False,
                )
                | Q(state=RunState.FAILED)
                | (
                    ~Q(
                        state__in=[
                            RunState.PENDING,
                            RunState.DEFERRED,
                            RunState.RESUMING,
                            RunState.FAILED,
                        ]
                    )
                    & Q(due_at__isnull=True)
                ),
            ),
            models.CheckConstraint(
                name="run_running_is_leased",
                condition=~Q(state=RunState.RUNNING) | (Q(lease_expires_at__isnull=False) & ~Q(lease_owner="")),
            ),
            models.CheckConstraint(
                name="run_leased_only_if_due_or_running",
                condition=Q(lease_expires_at__isnull=True) | Q(due_at__isnull=False) | Q(state=RunState.RUNNING),
            ),
        )

    def __str__(self) -> str:
        return f"#{self.pk} {self.name} {self.stat_date}"

    @property
    def progress_percent(self) -> int | None:
        """How far it got, 0 to 100; None where the job did not say."""
        if not self.progress_total:
            return None
        return min(100, (self.progress_done or 0) * 100 // self.progress_total)

    @property
    def duration(self) -> timedelta | None:
        """From its first start to its end, waiting included; None before it ended."""
        if self.started_at is None or self.finished_at is None:
            return None
        return self.finished_at - self.started_at


class Attempt(models.Model):
    """One execution of a run by one worker."""

    run = models.ForeignKey(TaskRun, models.CASCADE, related_name="attempts", verbose_name=_("run"))
    number = models.PositiveIntegerField(_("number"))
    token = models.PositiveBigIntegerField(_("token"))
    worker = models.CharField(_("worker"), max_length=200)
    pid = models.PositiveIntegerField(_("process"))
    due_at = models.DateTimeField(_("was due at"))
    started_at = models.DateTimeField(_("started"))
    finished_at = models.DateTimeField(_("ended"), null=True, blank=True)
    outcome = models.CharField(_("outcome"), max_length=20, choices=AttemptOutcome, blank=True)
    error = models.TextField(_("error"), blank=True)
    traceback = models.TextField(_("traceback"), blank=True)
    output = models.TextField(_("output"), blank=True)

    class Meta:
        verbose_name = _("attempt")
        verbose_name_plural = _("attempts")
        ordering = ("-id",)
        constraints = (
            models.UniqueConstraint(name="attempt_once", fields=["run", "number"]),
            models.CheckConstraint(
                name="attempt_ended_says_how",
                condition=Q(finished_at__isnull=True, outcome="") | Q(finished_at__isnull=False) & ~Q(outcome=""),
            ),
        )

    def __str__(self) -> str:
        return f"#{self.run_id} attempt {self.number}"


class RunEvent(models.Model):
    """One transition of a run: from where to where, what set it off, who, why and when."""

    run = models.ForeignKey(TaskRun, models.CASCADE, related_name="events", verbose_name=_("run"))
    at = models.DateTimeField(_("at"))
    from_state = models.CharField(_("from"), max_length=20, choices=RunState, blank=True)
    to_state = models.CharField(_("to"), max_length=20, choices=RunState)
    trigger = models.CharField(_("trigger"), max_length=20, choices=EventTrigger)
    actor = models.CharField(_("by"), max_length=200, blank=True)
    reason = models.TextField(_("reason"), blank=True)
    attempt = models.PositiveIntegerField(_("attempt"), null=True, blank=True)

    class Meta:
        verbose_name = _("event")
        verbose_name_plural = _("events")
        ordering = ("-id",)
        indexes = (models.Index("run", "id", name="event_of_run"),)

    def __str__(self) -> str:
        return f"#{self.run_id} {self.from_state} → {self.to_state}"

    def save(self, *args: Any, **kwargs: Any) -> None:
        """Refuse: history is written by scheduler.transitions only."""
        raise TypeError("A run event is written by scheduler.transitions only.")

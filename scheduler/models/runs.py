"""The row of a run."""

from datetime import timedelta

from django.contrib.postgres.fields import ArrayField
from django.core.serializers.json import DjangoJSONEncoder
from django.db import models
from django.db.models import Q
from django.utils.translation import gettext_lazy as _

from quotas.models import Quota
from scheduler.models.backfills import Backfill
from scheduler.models.fires import Fire
from scheduler.models.schedules import Schedule
from scheduler.states import EXCLUSIVE, TERMINAL, RunState

UNFINISHED = sorted(set(RunState) - TERMINAL)


class TaskRun(models.Model):
    """The durable state of one piece of work for one data day. Only scheduler.transitions writes `state`."""

    schedule = models.ForeignKey(
        Schedule,
        models.PROTECT,
        null=True,
        blank=True,
        db_index=False,  # see run_latest_of_schedule
        related_name="runs",
        verbose_name=_("schedule"),
    )
    fire = models.OneToOneField(Fire, models.PROTECT, null=True, blank=True, related_name="run", verbose_name=_("fire"))
    rerun_of = models.ForeignKey(
        "self",
        models.PROTECT,
        null=True,
        blank=True,
        db_index=False,  # see run_again_of: most runs are none
        related_name="reruns",
        verbose_name=_("run again of"),
    )
    backfill = models.ForeignKey(
        Backfill,
        models.PROTECT,
        null=True,
        blank=True,
        related_name="runs",
        db_index=False,
        verbose_name=_("backfill"),
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
    # What it needs before it begins; where the quota has less, it waits without being launched.
    quota = models.ForeignKey(
        Quota, models.PROTECT, null=True, blank=True, db_index=False, related_name="+", verbose_name=_("quota")
    )  # see run_needs_quota: most runs need none
    quota_need = models.PositiveBigIntegerField(_("needs of it"), null=True, blank=True)
    resume_limit = models.PositiveIntegerField(_("resumed at most"), null=True, blank=True)
    resume_by_hand = models.BooleanField(_("resumed by hand only"), default=False)
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
    cancel_reason = models.TextField(blank=True)

    attempt_count = models.PositiveIntegerField(_("attempts"), default=0)
    failure_count = models.PositiveIntegerField(_("failures"), default=0)
    pause_count = models.PositiveIntegerField(_("pauses"), default=0)
    interruption_count = models.PositiveIntegerField(_("interruptions in a row"), default=0)

    created_at = models.DateTimeField(_("opened"))
    started_at = models.DateTimeField(_("started"), null=True, blank=True)
    finished_at = models.DateTimeField(_("ended"), null=True, blank=True)
    # The SHA-256 of the ended run's manifest; see scheduler.sealing.
    seal = models.CharField(_("seal"), max_length=64, blank=True)

    class Meta:
        verbose_name = _("run")
        verbose_name_plural = _("runs")
        ordering = ("-id",)
        permissions = (
            ("cancel_taskrun", _("Can cancel a run")),
            ("retry_taskrun", _("Can retry a run or run it again")),
            ("resume_taskrun", _("Can let a suspended or paused run go on, or give it up")),
            ("answer_approval", _("Can answer the question of a run")),
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
            # rescuing.rescue_lost, keeping.held_runs. Without the lease's end, so that a heartbeat touches no index.
            models.Index(fields=["lease_owner"], name="run_is_held", condition=Q(state=RunState.RUNNING)),
            # launching: is there an older unfinished run of the key; firing: does one block. No other index may be
            # fit for `finished_at IS NULL`: where statistics say that nothing is unfinished, the planner would walk
            # through it for each run (10,000 at once: 12 s instead of 0.2 s).
            models.Index(
                fields=["exclusive_key", "id"],
                name="run_blocks_its_key",
                condition=Q(finished_at__isnull=True),
            ),
            # firing: was the planned work already done for this data day; the schedule page's strip
            models.Index("schedule", "stat_date", name="run_of_data_day"),
            models.Index("schedule", models.F("id").desc(), name="run_latest_of_schedule"),
            models.Index(fields=["rerun_of"], name="run_again_of", condition=Q(rerun_of__isnull=False)),
            # backfilling.cancel_backfill, the backfill's page
            models.Index(fields=["backfill", "id"], name="run_of_backfill", condition=Q(backfill__isnull=False)),
            models.Index(
                fields=["quota", "id"],
                name="run_needs_quota",
                condition=Q(quota__isnull=False, state__in=UNFINISHED),
            ),
            # sealing.seal_ended
            models.Index(fields=["id"], name="run_awaits_its_seal", condition=Q(finished_at__isnull=False, seal="")),
            # the lists "failed today" and "ended lately"
            models.Index(
                models.F("finished_at").desc(), name="run_ended_lately", condition=Q(finished_at__isnull=False)
            ),
            models.Index(fields=["state", "id"], name="run_unfinished_by_state", condition=Q(state__in=UNFINISHED)),
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

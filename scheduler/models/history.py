"""The rows of a run's history: its attempts and its events."""

from typing import Any

from django.db import models
from django.db.models import Q
from django.utils.translation import gettext_lazy as _

from scheduler.models.runs import TaskRun
from scheduler.states import AttemptOutcome, EventTrigger, RunState

# What not every run goes through.
RARE_STATES = sorted(set(RunState) - {RunState.PENDING, RunState.RUNNING, RunState.DONE})
RARE_TRIGGERS = sorted(set(EventTrigger) - {EventTrigger.SCHEDULE, EventTrigger.WORKER})


class Attempt(models.Model):
    """One execution of a run by one worker."""

    # without an index of its own: see attempt_once
    run = models.ForeignKey(TaskRun, models.CASCADE, db_index=False, related_name="attempts", verbose_name=_("run"))
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

    # without an index of its own: see event_of_run
    run = models.ForeignKey(TaskRun, models.CASCADE, db_index=False, related_name="events", verbose_name=_("run"))
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
        indexes = (
            models.Index("run", "id", name="event_of_run"),
            # the list by state and by trigger: what is rare would be looked for through all of history
            models.Index(
                "to_state", models.F("id").desc(), name="event_to_rare_state", condition=Q(to_state__in=RARE_STATES)
            ),
            models.Index(
                "trigger", models.F("id").desc(), name="event_of_rare_trigger", condition=Q(trigger__in=RARE_TRIGGERS)
            ),
        )

    def __str__(self) -> str:
        return f"#{self.run_id} {self.from_state} → {self.to_state}"

    def save(self, *args: Any, **kwargs: Any) -> None:
        """Refuse: history is written by scheduler.transitions only."""
        raise TypeError("A run event is written by scheduler.transitions only.")

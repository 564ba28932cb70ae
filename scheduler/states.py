"""The states of a run: what each means, who moves a row out of it, and where it may go.

The diagram in docs/states.md and the database's constraints say the same; tests/scheduler/test_states.py compares.
"""

from django.db import models
from django.utils.translation import gettext_lazy as _


class RunState(models.TextChoices):
    """Where a run stands."""

    # Due at `due_at`. The launcher leases it and sends a hint; the worker that takes the hint begins it.
    PENDING = "pending", _("pending")
    # A worker has it and holds the lease. The worker settles it; the rescuer frees it when the lease ends.
    RUNNING = "running", _("running")
    # Waits for a quota. A quota edge, the fallback poll or a person resumes it.
    PAUSED = "paused", _("paused")
    # Its quota came back. The launcher launches it; past its deadline it is paused again.
    RESUMING = "resuming", _("resuming")
    # Put off to `due_at` by its own choice, by quiet hours or by a person. The launcher launches it then.
    DEFERRED = "deferred", _("deferred")
    # With `due_at`: the launcher tries it again then. Without: it has ended, for good.
    FAILED = "failed", _("failed")
    # Asks a question. A person's answer makes it due.
    AWAITING_APPROVAL = "awaiting_approval", _("awaiting approval")
    # Was interrupted and waits for a person, who lets it go on or gives it up.
    SUSPENDED = "suspended", _("suspended")
    # Ended well. Never left.
    DONE = "done", _("done")
    # Ended by a person. Never left.
    CANCELLED = "cancelled", _("cancelled")


# From here a run may go there. An ended run (DONE, CANCELLED, FAILED without `due_at`) goes nowhere: every
# transition is also guarded by `finished_at IS NULL`.
TRANSITIONS: dict[RunState, frozenset[RunState]] = {
    RunState.PENDING: frozenset({RunState.RUNNING, RunState.DEFERRED, RunState.PAUSED, RunState.CANCELLED}),
    RunState.RUNNING: frozenset(
        {
            RunState.DONE,
            RunState.FAILED,
            RunState.DEFERRED,
            RunState.PAUSED,
            RunState.AWAITING_APPROVAL,
            RunState.SUSPENDED,
            RunState.PENDING,
            RunState.CANCELLED,
        }
    ),
    RunState.PAUSED: frozenset({RunState.RESUMING, RunState.PENDING, RunState.CANCELLED}),
    RunState.RESUMING: frozenset({RunState.RUNNING, RunState.PAUSED, RunState.CANCELLED}),
    RunState.DEFERRED: frozenset({RunState.RUNNING, RunState.PENDING, RunState.PAUSED, RunState.CANCELLED}),
    RunState.FAILED: frozenset(
        {RunState.RUNNING, RunState.PENDING, RunState.DEFERRED, RunState.PAUSED, RunState.CANCELLED}
    ),
    RunState.AWAITING_APPROVAL: frozenset({RunState.PENDING, RunState.CANCELLED}),
    RunState.SUSPENDED: frozenset({RunState.PENDING, RunState.FAILED, RunState.CANCELLED}),
    RunState.DONE: frozenset(),
    RunState.CANCELLED: frozenset(),
}

# Never left, whatever else the row says. FAILED ends a run only without `due_at`.
TERMINAL = frozenset(state for state, targets in TRANSITIONS.items() if not targets)
# The launcher launches these when `due_at` has come.
LAUNCHABLE = frozenset({RunState.PENDING, RunState.RESUMING, RunState.DEFERRED, RunState.FAILED})
# One run of a schedule at a time may be in these, unless its overlap policy is `allow`.
EXCLUSIVE = frozenset({RunState.RUNNING, RunState.RESUMING})

# Names of colours in the style sheet (project/static/tideline/admin.css); the text is always shown beside it.
COLOURS: dict[RunState, str] = {
    RunState.PENDING: "grey",
    RunState.RUNNING: "blue",
    RunState.PAUSED: "violet",
    RunState.RESUMING: "violet",
    RunState.DEFERRED: "grey",
    RunState.FAILED: "red",
    RunState.AWAITING_APPROVAL: "amber",
    RunState.SUSPENDED: "amber",
    RunState.DONE: "green",
    RunState.CANCELLED: "grey",
}


def sources_of(target: RunState) -> frozenset[RunState]:
    """Return the states from which a run may go to `target`."""
    return frozenset(state for state, targets in TRANSITIONS.items() if target in targets)


class EventTrigger(models.TextChoices):
    """What set a transition off."""

    SCHEDULE = "schedule", _("schedule")
    MANUAL = "manual", _("by hand")
    BACKFILL = "backfill", _("backfill")
    WORKER = "worker", _("worker")
    JOB = "job", _("job")
    RETRY = "retry", _("retry")
    RESCUE = "rescue", _("rescue")
    STOP = "stop", _("worker stopping")
    TIMEOUT = "timeout", _("timeout")
    QUOTA = "quota", _("quota used up")
    QUOTA_EDGE = "quota_edge", _("quota edge")
    FALLBACK_POLL = "fallback_poll", _("fallback poll")
    APPROVAL = "approval", _("approval")
    API = "api", _("API")


class FireKind(models.TextChoices):
    """Why a due instant of a schedule was claimed."""

    SCHEDULED = "scheduled", _("scheduled")
    MISFIRE = "misfire", _("made up")
    MANUAL = "manual", _("by hand")
    BACKFILL = "backfill", _("backfill")


class FireOutcome(models.TextChoices):
    """What became of a fire."""

    STARTED = "started", _("started a run")
    SKIPPED_OVERLAP = "skipped_overlap", _("skipped: overlap")
    SKIPPED_MISFIRE = "skipped_misfire", _("skipped: missed")
    SKIPPED_PAUSED = "skipped_paused", _("skipped: paused")
    SKIPPED_EXCLUDED = "skipped_excluded", _("skipped: excluded date")
    ALREADY_DONE = "already_done", _("already done")
    FAILED_TO_START = "failed_to_start", _("could not start")


class AttemptOutcome(models.TextChoices):
    """How one execution ended."""

    DONE = "done", _("done")
    FAILED = "failed", _("failed")
    TIMED_OUT = "timed_out", _("timed out")
    DEFERRED = "deferred", _("deferred")
    PAUSED = "paused", _("paused")
    AWAITING_APPROVAL = "awaiting_approval", _("awaiting approval")
    HANDED_BACK = "handed_back", _("handed back")
    LOST = "lost", _("lost")
    CANCELLED = "cancelled", _("cancelled")

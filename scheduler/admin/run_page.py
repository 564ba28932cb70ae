"""What a run's page shows of it beside its state: its facts, its attempts with what they said, and its events."""

from collections.abc import Iterable
from datetime import datetime
from typing import Any

from django.db.models import Case, IntegerField, Value, When
from django.db.models.functions import Length, Right
from django.utils.translation import gettext as _
from django.utils.translation import pgettext

from project.kit.admin import row_link, when
from scheduler.admin import cells
from scheduler.models import Attempt, RunEvent, TaskRun
from scheduler.states import AttemptOutcome, RunState

ATTEMPTS_SHOWN = 20
EVENTS_SHOWN = 100
REFRESH_SECONDS = 2
REFRESH_SECONDS_PAUSED = 10  # its place among all that wait is worked out anew each time
# The page is read every two seconds: of what an attempt said it has the end, and the attempt's own page has all.
CHARACTERS_OF_THE_LATEST = 16_000
CHARACTERS_OF_AN_EARLIER = 4_000
ENDED_WELL = (AttemptOutcome.DONE, AttemptOutcome.DEFERRED, AttemptOutcome.PAUSED)


def refresh_seconds(run: TaskRun) -> int | None:
    """Return how often the page looks again; None: the run has ended, and changes no more."""
    if run.finished_at is not None:
        return None
    return REFRESH_SECONDS_PAUSED if run.state == RunState.PAUSED else REFRESH_SECONDS


def answers(offered: Iterable[dict[str, Any]]) -> dict[str, dict[str, Any]]:
    """Return those of the offered actions that answer the run's question: they stand below it."""
    return {action["name"]: action for action in offered if action["name"] in ("approve", "reject")}


def unsaid_reason(run: TaskRun, explanations: Iterable[dict[str, Any]]) -> str:
    """Return why the run is in its state, unless an answer below says that already."""
    reason = " ".join(run.reason.split())
    said = any(reason in " ".join(str(part["answer"]).split()) for part in explanations)
    return "" if said else run.reason


def facts(run: TaskRun, now: datetime) -> list[tuple[str, Any]]:
    """Return what is known of the run beside its state, as labels and values; what does not apply is left out."""
    known: list[tuple[str, Any]] = [
        (_("data day"), run.stat_date.isoformat()),
        (_("schedule"), cells.schedule_link(run.schedule_id, run.schedule.name) if run.schedule else None),
        (_("fire"), cells.fire_link(run.fire, cells.kind_text(run.fire.kind)) if run.fire else None),
        (_("backfill"), row_link(run.backfill) if run.backfill else None),
        (_("run again of"), cells.run_link(run.rerun_of_id) if run.rerun_of_id else None),
        (_("job"), run.job),
        (pgettext("run", "planned"), when(run.planned_at, now)),
        (pgettext("run", "opened"), when(run.created_at, now)),
        (_("due"), when(run.due_at, now) if run.due_at else None),
        (_("started"), when(run.started_at, now) if run.started_at else None),
        (_("ended"), when(run.finished_at, now) if run.finished_at else None),
        (_("took"), cells.took(run.started_at, run.finished_at, now) if run.started_at else None),
        (_("held by"), f"{run.lease_owner} ({run.lease_pid})" if run.state == RunState.RUNNING else None),
        (_("lease until"), when(run.lease_expires_at, now) if run.state == RunState.RUNNING else None),
        (_("failures"), run.failure_count or None),
        (_("interruptions in a row"), run.interruption_count or None),
        (_("retry after"), ", ".join(cells.seconds_text(delay) for delay in run.retry_delays) or None),
        (_("attempt timeout"), cells.seconds_text(run.timeout_seconds) if run.timeout_seconds else None),
        (_("when interrupted"), run.get_on_interrupt_display()),
        (_("priority"), run.priority or None),
        (_("seal"), cells.seal(run.seal) if run.seal else None),
    ]
    return [(label, value) for label, value in known if value is not None]


# --- attempts --------------------------------------------------------------------------------------------------


def attempts(run: TaskRun, now: datetime) -> list[dict[str, Any]]:
    """Return the latest attempts, each with the end of what it said."""
    shown = Case(
        When(number=run.attempt_count, then=Value(CHARACTERS_OF_THE_LATEST)),
        default=Value(CHARACTERS_OF_AN_EARLIER),
        output_field=IntegerField(),
    )
    rows = run.attempts.order_by("-number").defer("output", "traceback")
    rows = rows.annotate(
        said=Right("output", shown),
        trace=Right("traceback", shown),
        characters=Length("output") + Length("traceback"),
    )
    return [_attempt_line(attempt, run, now) for attempt in rows[:ATTEMPTS_SHOWN]]


def _attempt_line(attempt: Any, run: TaskRun, now: datetime) -> dict[str, Any]:
    return {
        "attempt": attempt,
        "badge": cells.attempt_badge(attempt),
        "started": when(attempt.started_at, now),
        "took": cells.took(attempt.started_at, attempt.finished_at, now),
        "output": attempt.said,
        "traceback": attempt.trace,
        "is_cut": len(attempt.said) + len(attempt.trace) < attempt.characters,
        "is_open": attempt.number == run.attempt_count and _is_telling(attempt),
    }


def _is_telling(attempt: Attempt) -> bool:
    """Tell whether people look at what it said: it goes on, or it did not end well."""
    return attempt.outcome not in ENDED_WELL


# --- events ----------------------------------------------------------------------------------------------------


def events(run: TaskRun) -> list[dict[str, Any]]:
    """Return the latest events in the order in which they happened."""
    return [_event_line(event) for event in list(run.events.order_by("-id")[:EVENTS_SHOWN])[::-1]]


def _event_line(event: RunEvent) -> dict[str, Any]:
    how = [
        event.get_trigger_display(),
        event.actor,
        _("attempt %(number)s") % {"number": event.attempt} if event.attempt else "",
    ]
    return {
        "at": event.at,
        "source": event.get_from_state_display() if event.from_state else "",
        "target": cells.state_badge(event.to_state),
        "how": " · ".join(filter(None, how)),
        "reason": event.reason,
    }

"""Rows of each kind, and programs that ask about them."""

from datetime import date
from typing import Any

from django.http import HttpResponse

from project.kit.clock import database_now
from quotas.models import Quota
from scheduler import backfilling
from scheduler.models import Approval, Fire, Schedule, TaskRun
from scheduler.states import FireKind, FireOutcome, RunState
from tests.kit.api.caller import Program, chiefs_program, problem_of
from tests.scheduler.factories import DAY, make_calendar, make_question, make_run, make_schedule
from tests.scheduler.pauses import paused, used_up

MODELS = ("approval", "attempt", "backfill", "calendar", "calendarday", "fire", "runevent", "schedule", "taskrun")


def make_fire(schedule: Schedule, **fields: Any) -> Fire:
    """Insert a fire that started nothing, unless the fields say otherwise."""
    now = database_now()
    values = {
        "fire_at": now,
        "kind": FireKind.SCHEDULED,
        "outcome": FireOutcome.SKIPPED_OVERLAP,
        "reason": "Another one runs.",
        "recorded_at": now,
    }
    return Fire.objects.create(schedule=schedule, **values | fields)


def make_each() -> dict[str, Any]:
    """Insert a row of each kind, and return them by their keys."""
    now = database_now()
    schedule, calendar = make_schedule(now=now), make_calendar("2026-12-25", titles="Christmas")
    calendar.name = "holidays"
    calendar.save()
    ended = make_run(RunState.DONE, now=now, progress={"page": 3})
    asking = make_question(now=now)
    backfill = backfilling.open_backfill(schedule, date(2026, 4, 1), date(2026, 4, 2), now=now, actor="ann")
    return {
        "schedule": schedule.pk,
        "unused": make_schedule(now=now).pk,
        "off": make_schedule(now=now, enabled=False).pk,
        "calendar": calendar.pk,
        "day": calendar.days.get().pk,
        "ended": ended.pk,
        "attempt": ended.attempts.get().pk,
        "event": ended.events.get().pk,
        "asking": asking.pk,
        "approval": Approval.objects.get().pk,
        "paused": make_run(RunState.PAUSED, now=now).pk,
        "suspended": make_run(RunState.SUSPENDED, now=now).pk,
        "failed": make_run(RunState.FAILED, now=now).pk,
        "fire": make_fire(schedule).pk,
        "backfill": backfill.pk,
        "tomorrow": (now + DAY).isoformat(),
    }


def paused_run() -> tuple[TaskRun, Quota]:
    """Insert a run that waits for a quota which is used up."""
    now = database_now()
    quota = used_up(now=now)
    return paused(quota, now=now), quota


def version_of(program: Program, address: str) -> dict[str, str]:
    """Return the header with which a change of what is there says on which version it is based."""
    return {"if_match": program.get(address).headers.get("ETag", "")}


def changed(address: str, said: Any, *, method: str = "patch", version: int | None = None) -> HttpResponse:
    """Change what is there, by its present version unless another is named."""
    program = chiefs_program()
    header = version_of(program, address) if version is None else {"if_match": f'"{version}"'}
    return program.send(method, address, said, **header)


def shown(address: str) -> Any:
    """Return what there is."""
    response = chiefs_program().get(address)
    assert response.status_code == 200, response.content
    return response.json()


def found(address: str) -> set[int]:
    """Return the numbers of the rows of a list."""
    return {row["id"] for row in shown(address)["results"]}


def fields_refused(response: HttpResponse) -> set[str]:
    """Return the fields that are wrong, of a refusal because of fields."""
    return {error["field"] for error in problem_of(response, 400)["errors"]}

"""What each message about a run says, whatever it tells: how the run came to be, and its facts. Read from the rows,
with one question for however many runs.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from datetime import date, timedelta
from typing import Any

from django.db.models import OuterRef, Subquery
from django.urls import reverse

from scheduler import wording
from scheduler.models import Attempt, RunEvent, TaskRun
from scheduler.states import AttemptOutcome, EventTrigger, FireKind


@dataclass(frozen=True, slots=True)
class Opened:
    """How a run came to be.

    Attributes:
        trigger: what opened it.
        actor: who did; empty where nobody had to.
        made_up_late: by how much it was made up late after a miss; None where it was not.
    """

    trigger: EventTrigger
    actor: str = ""
    rerun_of: int | None = None
    backfill: int | None = None
    made_up_late: timedelta | None = None


@dataclass(frozen=True, slots=True)
class ToldRun:
    """A run as messages tell of it.

    Attributes:
        worker: who had its latest attempt; empty: nobody yet.
        outcome: how its latest attempt ended, if it has.
        failures: how many of its attempts failed.
        retries: how many retries it may have.
        duration: from its first start to its end, waiting included; None before it has ended.
        cancel_asked_by: who asked to cancel it while it was running.
    """

    pk: int
    name: str
    job: str
    stat_date: date
    schedule_id: int | None
    opened: Opened
    attempt: int = 0
    worker: str = ""
    outcome: AttemptOutcome | None = None
    failures: int = 0
    retries: int = 0
    duration: timedelta | None = None
    cancel_asked_by: str = ""

    def __str__(self) -> str:
        return f"#{self.pk} {self.name} {self.stat_date}"

    @property
    def labels(self) -> dict[str, str]:
        """By which channels and silences choose."""
        return {"name": self.name, "job": self.job}

    @property
    def url(self) -> str:
        """Its page, as a path of the control panel."""
        return reverse("admin:scheduler_taskrun_change", args=[self.pk])

    @property
    def facts(self) -> tuple[tuple[str, str], ...]:
        """What stands in each message about it, as labels and values; what does not apply is left out."""
        facts = (
            ("How it came", wording.how_it_came(self.opened)),
            ("Data day", str(self.stat_date)),
            ("Schedule", self.name if self.schedule_id is not None else ""),
            ("Attempt", str(self.attempt) if self.attempt else ""),
        )
        return tuple((label, value) for label, value in facts if value)


def read_runs(run_ids: Iterable[int]) -> list[ToldRun]:
    """Return the runs as messages tell of them, in the order of their numbers."""
    opening = RunEvent.objects.filter(run=OuterRef("pk")).order_by("id")
    attempt = Attempt.objects.filter(run=OuterRef("pk"), number=OuterRef("attempt_count"))
    rows = TaskRun.objects.filter(pk__in=list(run_ids)).order_by("pk")
    return [
        _told(row)
        for row in rows.values(
            *("pk", "name", "job", "stat_date", "schedule_id", "rerun_of_id", "backfill_id"),
            *("attempt_count", "failure_count", "retry_delays", "started_at", "finished_at", "cancel_requested_by"),
            *("fire__kind", "fire__fire_at", "fire__recorded_at"),
            opened_by=Subquery(opening.values("actor")[:1]),
            opened_through=Subquery(opening.values("trigger")[:1]),
            worker=Subquery(attempt.values("worker")[:1]),
            outcome=Subquery(attempt.values("outcome")[:1]),
        )
    ]


def _told(row: Mapping[str, Any]) -> ToldRun:
    ended = row["started_at"] and row["finished_at"]
    return ToldRun(
        pk=row["pk"],
        name=row["name"],
        job=row["job"],
        stat_date=row["stat_date"],
        schedule_id=row["schedule_id"],
        opened=_opened(row),
        attempt=row["attempt_count"],
        worker=row["worker"] or "",
        outcome=AttemptOutcome(row["outcome"]) if row["outcome"] else None,
        failures=row["failure_count"],
        retries=len(row["retry_delays"]),
        duration=row["finished_at"] - row["started_at"] if ended else None,
        cancel_asked_by=row["cancel_requested_by"],
    )


def _opened(row: Mapping[str, Any]) -> Opened:
    made_up = row["fire__kind"] == FireKind.MISFIRE
    return Opened(
        trigger=EventTrigger(row["opened_through"] or EventTrigger.SCHEDULE),
        actor=row["opened_by"] or "",
        rerun_of=row["rerun_of_id"],
        backfill=row["backfill_id"],
        made_up_late=row["fire__recorded_at"] - row["fire__fire_at"] if made_up else None,
    )

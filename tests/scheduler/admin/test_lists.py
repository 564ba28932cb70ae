"""The lists answer what people ask, with as many queries for fifty rows as for five, and count no history."""

from collections.abc import Callable
from datetime import datetime
from typing import Any

import pytest

from project.kit.clock import database_now
from scheduler.models import Backfill, Fire, Schedule, TaskRun
from scheduler.states import FireKind, FireOutcome, RunState
from tests.panel import chief, listed, queries_of, text_of
from tests.scheduler.admin.desk import list_of, page_of, person
from tests.scheduler.factories import DAY, HOUR, MINUTE, SECOND, make_question, make_run, make_schedule

pytestmark = pytest.mark.django_db

HISTORY = ("taskrun", "fire", "attempt", "runevent", "approval", "backfill")
LISTS = ("schedule", *HISTORY)


def make_history(rows: int) -> None:
    """Insert so many schedules, each with a fire and a run that has an attempt and an event."""
    now = database_now()
    for number in range(rows):
        schedule = make_schedule(now=now)
        fire = Fire.objects.create(
            schedule=schedule,
            fire_at=now - number * MINUTE,
            kind=FireKind.SCHEDULED,
            outcome=FireOutcome.STARTED,
            recorded_at=now,
        )
        backfill = Backfill.objects.create(
            schedule=schedule, first_day=now.date(), last_day=now.date(), created_at=now, created_by="ann"
        )
        done = {"progress_done": 3, "progress_total": 4, "backfill": backfill}
        make_run(RunState.DONE, now=now, schedule=schedule, fire=fire, **done)
        make_question(now=now)


@pytest.mark.parametrize("model", LISTS)
def test_a_list_asks_as_often_for_fifty_rows_as_for_five(model: str) -> None:
    make_history(5)
    few = queries_of(list_of(model))
    make_history(45)
    assert len(queries_of(list_of(model))) == len(few)


@pytest.mark.parametrize("model", LISTS)
def test_a_list_counts_nothing(model: str) -> None:
    make_history(3)
    assert not [sql for sql in queries_of(list_of(model)) if "COUNT(" in sql.upper()]


def test_a_page_of_a_run_asks_as_often_for_many_attempts_and_events_as_for_one() -> None:
    def run_with(attempts: int) -> TaskRun:
        run = make_run(RunState.PENDING)
        for number in range(1, attempts + 1):
            run.attempt_count = number
            run.attempts.create(
                number=number, token=number, worker="w", pid=1, due_at=run.due_at, started_at=run.due_at,
                finished_at=run.due_at, outcome="failed", output="said " * 50,
            )  # fmt: skip
        run.save()
        return run

    few, many = page_of(run_with(1)), page_of(run_with(40))
    assert len(queries_of(few)) == len(queries_of(many))


def test_a_page_of_a_schedule_asks_as_often_for_a_long_history_as_for_one_run() -> None:
    now = database_now()

    def schedule_with(runs: int) -> Schedule:
        schedule = make_schedule(now=now)
        for number in range(runs):
            fire = Fire.objects.create(
                schedule=schedule, fire_at=now - number * HOUR, kind="scheduled", outcome="started", recorded_at=now
            )
            make_run(RunState.DONE, schedule=schedule, fire=fire, now=now)
        return schedule

    young, old = page_of(schedule_with(1)), page_of(schedule_with(30))
    assert len(queries_of(young)) == len(queries_of(old))


def test_history_is_read_page_by_page() -> None:
    for _ in range(53):
        make_run(RunState.DONE)
    client = chief()
    first, second = client.get(list_of("taskrun")), client.get(list_of("taskrun", "?p=2"))
    assert (len(listed(first)), first.context["cl"].has_next) == (50, True)
    assert (len(listed(second)), second.context["cl"].has_next) == (3, False)
    assert min(listed(first)) > max(listed(second))
    for nonsense in ("0", "-1", "x", "99999999999999999999"):
        assert client.get(list_of("taskrun", f"?p={nonsense}")).status_code == 200


# --- questions ----------------------------------------------------------------------------------------------------


Maker = Callable[[datetime], TaskRun]


def ended(state: RunState, **fields: Any) -> Maker:
    """Return the maker of a run that ended two seconds ago."""
    return lambda now: make_run(state, now=now - 2 * SECOND, ended=state == RunState.FAILED, **fields)


RUNS: dict[str, Maker] = {
    "running": lambda now: make_run(RunState.RUNNING, now=now),
    "stuck": lambda now: make_run(RunState.RUNNING, now=now, lease_expires_at=now - SECOND),
    "due now": lambda now: make_run(RunState.PENDING, now=now),
    "overdue": lambda now: make_run(RunState.PENDING, now=now, due_at=now - 2 * MINUTE),
    "retried later": lambda now: make_run(RunState.FAILED, now=now, due_at=now + HOUR),
    "suspended": lambda now: make_run(RunState.SUSPENDED, now=now),
    "asking": lambda now: make_run(RunState.AWAITING_APPROVAL, now=now),
    "failed": ended(RunState.FAILED),
    "failed long ago": lambda now: make_run(RunState.FAILED, now=now - 3 * DAY, ended=True),
    "done": ended(RunState.DONE),
    "cancelled": ended(RunState.CANCELLED),
}
UNFINISHED = {"running", "stuck", "due now", "overdue", "retried later", "suspended", "asking"}


@pytest.mark.parametrize(
    ("question", "answer"),
    [
        ("unfinished", UNFINISHED),
        ("running", {"running", "stuck"}),
        ("stuck", {"stuck"}),
        ("overdue", {"overdue"}),
        ("retry", {"retried later"}),
        ("suspended", {"suspended"}),
        ("approval", {"asking"}),
        ("failed-24h", {"failed"}),
        ("done-24h", {"done"}),
    ],
)
def test_the_list_of_runs_answers(question: str, answer: set[str]) -> None:
    now = database_now()
    names = {make(now).pk: name for name, make in RUNS.items()}
    response = chief().get(list_of("taskrun", f"?show={question}"))
    assert {names[pk] for pk in listed(response)} == answer


def test_failed_today_begins_at_the_viewers_midnight() -> None:
    now = database_now()
    run = make_run(RunState.FAILED, now=now - SECOND, ended=True)
    long_ago = make_run(RunState.FAILED, now=now - DAY - HOUR, ended=True)
    shown = listed(chief().get(list_of("taskrun", "?show=failed-today")))
    assert long_ago.pk not in shown
    assert run.pk in shown or (now - SECOND).date() != now.date()


@pytest.mark.parametrize(
    ("question", "name"),
    [("due", "due"), ("overdue", "late"), ("paused", "paused"), ("broken", "broken"), ("never-fired", "fresh")],
)
def test_the_list_of_schedules_answers(question: str, name: str) -> None:
    now = database_now()
    make_schedule(name="due", due=now - SECOND)
    make_schedule(name="late", due=now - 2 * MINUTE)
    make_schedule(name="paused", enabled=False, now=now)
    Schedule.objects.filter(pk=make_schedule(name="broken", now=now).pk).update(
        next_run_at=None, broken_reason="No such zone."
    )
    for schedule in Schedule.objects.all():
        schedule.fires.create(fire_at=now, kind="manual", outcome="started", recorded_at=now)
    make_schedule(name="fresh", now=now)
    response = chief().get(list_of("schedule", f"?show={question}"))
    names = {row.name for row in response.context["cl"].result_list}
    assert names == ({"due", "late"} if question == "due" else {name})


def test_runs_are_found_by_number_and_by_their_schedules_name() -> None:
    schedule = make_schedule(name="Nightly settlement")
    wanted, other, alone = make_run(schedule=schedule), make_run(), make_run(name="settlement by hand")
    client = chief()
    assert listed(client.get(list_of("taskrun", f"?q=%23{other.pk}"))) == [other.pk]
    assert listed(client.get(list_of("taskrun", "?q=SETTLEMENT"))) == [alone.pk, wanted.pk]
    assert listed(client.get(list_of("taskrun", f"?schedule={schedule.pk}"))) == [wanted.pk]
    assert listed(client.get(list_of("taskrun", "?q=99999999999999999999"))) == []


def test_runs_are_shown_for_one_data_day() -> None:
    day = make_run(stat_date="2026-06-02")
    make_run(stat_date="2026-06-03")
    client = chief()
    assert listed(client.get(list_of("taskrun", "?stat_date=2026-06-02"))) == [day.pk]
    for nonsense in ("yesterday", "9999-12-31", "0001-01-01"):
        assert len(listed(client.get(list_of("taskrun", f"?stat_date={nonsense}")))) == 2


def test_a_row_says_what_its_state_does_not() -> None:
    now = database_now()
    make_run(RunState.RUNNING, now=now, lease_expires_at=now - SECOND)
    make_run(RunState.FAILED, now=now, due_at=now + HOUR, reason="The ledger is locked.")
    text = text_of(chief().get(list_of("taskrun")))
    assert "running stuck" in text
    assert "failed retry" in text
    assert "The ledger is locked." in text


@pytest.mark.parametrize("model", HISTORY)
def test_nobody_adds_or_deletes_history(model: str) -> None:
    make_history(1)
    client = chief()
    response = client.get(list_of(model))
    assert "delete_selected" not in response.content.decode()
    assert client.get(list_of(model) + "add/").status_code == 403
    row = response.context["cl"].result_list[0]
    assert client.post(page_of(row), {"state": "done"}).status_code in {403, 405}
    assert client.post(f"{list_of(model)}{row.pk}/delete/", {"post": "yes"}).status_code == 403


@pytest.mark.parametrize("model", LISTS)
def test_who_may_only_look_sees_lists_and_pages(model: str) -> None:
    make_history(1)
    client = person()
    response = client.get(list_of(model))
    assert response.status_code == 200
    row = response.context["cl"].result_list[0]
    assert client.get(page_of(row)).status_code == 200

"""The rows themselves: what the database refuses whoever asks, and what a row says about itself."""

from datetime import timedelta
from typing import Any

import pytest
from django.db import IntegrityError, connection, transaction

from scheduler import cron
from scheduler.cron import TriggerError
from scheduler.models import Attempt, Fire, RunEvent, Schedule, TaskRun
from scheduler.states import AttemptOutcome, FireKind, FireOutcome, RunState
from tests.scheduler.factories import HOUR, MINUTE, NOW, make_attempt, make_run, make_schedule, row, utc

pytestmark = pytest.mark.django_db


# --- schedules ----------------------------------------------------------------------------------------------------


def test_a_schedule_gives_its_trigger_as_a_value() -> None:
    by_cron = make_schedule(cron="0 2 * * *", timezone="Asia/Shanghai")
    by_interval = make_schedule(interval_seconds=90, anchor_at=NOW)
    once = make_schedule(once_at=NOW + HOUR)
    assert by_cron.as_trigger() == cron.cron("0 2 * * *", "Asia/Shanghai")
    assert by_interval.as_trigger() == cron.interval(90, NOW)
    assert once.as_trigger() == cron.once(NOW + HOUR)


@pytest.mark.parametrize("fields", [{"cron": "0 2 * * *"}, {"interval_seconds": 60}, {"once_at": NOW + HOUR}])
def test_a_zone_that_is_gone_makes_every_kind_of_trigger_unreadable(fields: dict[str, Any]) -> None:
    schedule = make_schedule(**fields)
    schedule.timezone = "Mars/Olympus"
    with pytest.raises(TriggerError, match="Mars/Olympus"):
        schedule.as_trigger()


@pytest.mark.parametrize(
    ("assignment", "constraint"),
    [
        ("cron = ''", "schedule_has_its_trigger"),
        ("trigger = 'interval'", "schedule_has_its_trigger"),
        ("trigger = 'interval', interval_seconds = 60", "schedule_has_its_trigger"),
        ("trigger = 'interval', interval_seconds = 0, anchor_at = now()", "schedule_has_its_trigger"),
        ("trigger = 'once'", "schedule_has_its_trigger"),
        ("trigger = 'weekly'", "schedule_has_its_trigger"),
        ("overlap = ''", "schedule_overlap_is_decided"),
        ("overlap = 'maybe'", "schedule_overlap_is_decided"),
        ("broken_reason = 'unreadable'", "schedule_broken_is_unscheduled"),
    ],
)
def test_a_schedule_that_contradicts_itself_is_refused(assignment: str, constraint: str) -> None:
    schedule = make_schedule()
    with pytest.raises(IntegrityError, match=constraint):
        _update(f"scheduler_schedule SET {assignment}", schedule)


def test_a_schedule_with_history_is_not_deleted_with_it() -> None:
    schedule = make_schedule()
    make_run(schedule=schedule)
    with pytest.raises(IntegrityError):
        schedule.delete()


# --- fires --------------------------------------------------------------------------------------------------------


def _fire(schedule: Schedule, kind: FireKind, outcome: FireOutcome = FireOutcome.STARTED, reason: str = "") -> Fire:
    with transaction.atomic():
        return Fire.objects.create(
            schedule=schedule, fire_at=NOW, kind=kind, outcome=outcome, reason=reason, recorded_at=NOW
        )


@pytest.mark.parametrize("kind", FireKind)
def test_an_instant_of_a_schedule_fires_once_in_each_kind(kind: FireKind) -> None:
    schedule = make_schedule()
    _fire(schedule, kind)
    with pytest.raises(IntegrityError):
        _fire(schedule, kind)
    _fire(make_schedule(), kind)


@pytest.mark.parametrize("outcome", [outcome for outcome in FireOutcome if outcome != FireOutcome.STARTED])
def test_a_fire_that_started_nothing_says_why(outcome: FireOutcome) -> None:
    with pytest.raises(IntegrityError, match="fire_without_run_says_why"):
        _fire(make_schedule(), FireKind.SCHEDULED, outcome)
    _fire(make_schedule(), FireKind.SCHEDULED, outcome, "because")


def test_a_fire_shows_its_schedule_and_instant() -> None:
    assert str(_fire(make_schedule(name="figures"), FireKind.MANUAL)) == "figures @ 2026-06-01 12:00:00 UTC"


def test_a_fire_opens_one_run_at_the_most() -> None:
    fire = _fire(make_schedule(), FireKind.SCHEDULED)
    make_run(fire=fire)
    with pytest.raises(IntegrityError, match="fire"):
        make_run(fire=fire)


# --- runs ---------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("done", "total", "percent"),
    [(None, None, None), (5, None, None), (5, 0, None), (None, 8, 0), (0, 8, 0), (1, 8, 12), (8, 8, 100), (9, 8, 100)],
)
def test_the_bar_shows_what_is_known_and_never_more_than_all(
    done: int | None, total: int | None, percent: int | None
) -> None:
    assert TaskRun(progress_done=done, progress_total=total).progress_percent == percent


def test_a_run_lasted_from_its_first_start_to_its_end() -> None:
    assert TaskRun(started_at=NOW, finished_at=NOW + HOUR).duration == timedelta(hours=1)
    assert TaskRun(started_at=NOW).duration is None
    assert TaskRun(finished_at=NOW).duration is None


def test_a_run_shows_its_number_name_and_data_day() -> None:
    run = make_run(name="figures", stat_date=utc("2026-05-31").date())
    assert str(run) == f"#{run.pk} figures 2026-05-31"


@pytest.mark.parametrize(
    ("state", "ended"), [(RunState.DONE, False), (RunState.CANCELLED, False), (RunState.FAILED, True)]
)
@pytest.mark.parametrize(
    "assignment",
    [
        "state = 'pending', finished_at = NULL, due_at = now()",
        "result = '1'",
        """progress = '{"page": 9}'""",
        "reason = 'other'",
        "finished_at = now()",
        "lease_token = 7",
    ],
)
def test_an_ended_run_changes_by_no_statement(state: RunState, ended: bool, assignment: str) -> None:
    run = make_run(state, ended=ended)
    before = row(run)
    with pytest.raises(IntegrityError, match="a run that has ended never changes"):
        _update(f"scheduler_taskrun SET {assignment}", run)
    assert row(run) == before


def test_an_ended_run_takes_its_seal_once_and_nothing_with_it() -> None:
    run = make_run(RunState.DONE)
    with pytest.raises(IntegrityError, match="a run that has ended never changes"):
        _update("scheduler_taskrun SET seal = 'abc', reason = 'other'", run)
    _update("scheduler_taskrun SET seal = 'abc'", run)
    for assignment in ("seal = ''", "seal = 'def'", "reason = 'other'", "seal = seal"):
        with pytest.raises(IntegrityError, match="a run that has ended never changes"):
            _update(f"scheduler_taskrun SET {assignment}", run)


@pytest.mark.parametrize("state", RunState)
@pytest.mark.parametrize(
    "assignment", ["stat_date = stat_date + 1", "planned_at = planned_at + interval '1 microsecond'"]
)
def test_a_run_keeps_its_data_day_and_planned_instant_in_every_state(state: RunState, assignment: str) -> None:
    run = make_run(state)
    with pytest.raises(IntegrityError, match=r"never changes|keeps its data day"):
        _update(f"scheduler_taskrun SET {assignment}", run)


def test_an_event_changes_by_no_statement() -> None:
    run = make_run()
    with pytest.raises(IntegrityError, match="history never changes"), transaction.atomic():
        RunEvent.objects.filter(run=run).update(reason="other")


def _update(statement: str, target: Schedule | TaskRun) -> None:
    with transaction.atomic(), connection.cursor() as cursor:
        cursor.execute(f"UPDATE {statement} WHERE id = %s", [target.pk])


# --- attempts -----------------------------------------------------------------------------------------------------


def test_an_attempt_has_its_number_once() -> None:
    run = make_run(RunState.RUNNING)
    with pytest.raises(IntegrityError, match="attempt_once"):
        make_attempt(run)


@pytest.mark.parametrize("fields", [{"outcome": AttemptOutcome.DONE}, {"finished_at": NOW + MINUTE}])
def test_an_attempt_has_ended_exactly_if_it_says_how(fields: dict[str, Any]) -> None:
    run = make_run(RunState.RUNNING)
    with pytest.raises(IntegrityError, match="attempt_ended_says_how"):
        Attempt.objects.filter(run=run).update(**fields)


def test_attempts_and_events_show_what_they_are() -> None:
    run = make_run(RunState.RUNNING)
    assert str(Attempt.objects.get(run=run)) == f"#{run.pk} attempt 1"
    assert str(RunEvent.objects.get(run=run)) == f"#{run.pk}  → running"

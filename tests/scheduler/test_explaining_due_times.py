"""Why nothing is recorded for an instant, and where a schedule stands."""

import pytest

from scheduler import cron
from scheduler.explaining import RowRef, Scan, Scans, Situation, explain
from scheduler.models import Fire, Schedule, TaskRun
from scheduler.states import FireKind, RunState
from tests.scheduler.due_once import DUE, excluding, fired, why
from tests.scheduler.factories import A_MOMENT, DAY, HOUR, MINUTE, NOW, SECOND, make_run, make_schedule, utc

pytestmark = pytest.mark.django_db


# --- nobody came -----------------------------------------------------------------------------------------------


def test_without_a_worker_it_says_since_when_no_scan_has_run() -> None:
    schedule = make_schedule()
    silent = Scans(fire=Scan(DUE - HOUR))
    for at in (DUE, None):
        said = explain(schedule, at=at, now=DUE + 5 * MINUTE, scans=silent)
        assert said.situation is Situation.NOBODY_FIRES
        assert "No scan has run since 2026-06-02 01:00:00 UTC: no worker is running" in said.answer
        assert said.waits_for == "a worker"


def test_where_no_scan_ever_ran_it_says_that() -> None:
    said = explain(make_schedule(), at=None, now=DUE + MINUTE, scans=Scans(fire=Scan(None)))
    assert "No scan has ever run: no worker is running" in said.answer


def test_what_was_due_a_moment_ago_is_fired_by_the_next_scan() -> None:
    said = why(make_schedule(), DUE, now=DUE + SECOND)
    assert said.situation is Situation.JUST_DUE
    assert said.waits_for == "the next scan"


def test_what_is_due_for_long_although_scans_run_is_held_up_by_something_else() -> None:
    said = why(make_schedule(), DUE, now=DUE + HOUR)
    assert said.situation is Situation.HELD_UP
    assert "although scans run" in said.answer


# --- no such time, or not yet ----------------------------------------------------------------------------------


def test_an_instant_that_is_no_due_time_names_its_neighbours() -> None:
    said = why(make_schedule(), DUE + 30 * MINUTE)
    assert said.situation is Situation.NOT_DUE
    assert "the one before is 2026-06-02 02:00:00 UTC, the one after is 2026-06-03 02:00:00 UTC." in said.answer


def test_an_instant_that_the_clocks_left_out_is_no_due_time_and_names_the_one_after_the_gap() -> None:
    schedule = make_schedule(cron="30 2 * * *", timezone="Europe/Berlin", now=utc("2026-03-28 12:00"))
    said = why(schedule, utc("2026-03-29T01:30"), now=utc("2026-03-28 13:00"))
    assert said.situation is Situation.NOT_DUE
    assert "the one before is 2026-03-29 03:00:00 Europe/Berlin" in said.answer


def test_a_due_time_to_come_says_how_far_it_is() -> None:
    said = why(make_schedule(), DUE, now=DUE - 2 * HOUR)
    assert said.situation is Situation.TO_COME
    assert said.answer.endswith("in 2 h.")


@pytest.mark.parametrize(
    ("on_excluded", "fate"),
    [
        (Schedule.OnExcluded.SKIP, "It will be skipped"),
        (Schedule.OnExcluded.MOVE, "Its run will move to the next date"),
    ],
)
def test_a_due_time_to_come_on_an_excluded_date_says_what_will_become_of_it(on_excluded: str, fate: str) -> None:
    schedule = make_schedule(calendar=excluding(DUE.date(), ""), on_excluded=on_excluded)
    said = why(schedule, DUE, now=NOW)
    assert said.situation is Situation.EXCLUDED
    assert fate in said.answer


def test_before_it_was_created_there_was_nothing_to_fire() -> None:
    said = why(make_schedule(), DUE - DAY)
    assert said.situation is Situation.BEFORE_CREATION
    assert "it was created at 2026-06-01 12:00:00 UTC" in said.answer


def test_a_past_due_time_without_a_record_says_that_the_schedule_was_another_then() -> None:
    schedule = make_schedule(due=DUE + 2 * DAY, updated_at=DUE + DAY)
    said = why(schedule, DUE, now=DUE + DAY + HOUR)
    assert said.situation is Situation.NO_RECORD
    assert "The schedule was changed at 2026-06-03 02:00:00 UTC" in said.answer


# --- where it stands -------------------------------------------------------------------------------------------


def test_without_an_instant_it_tells_what_the_schedule_does_next_and_what_its_unfinished_run_waits_for() -> None:
    schedule = make_schedule()
    run = make_run(RunState.SUSPENDED, schedule=schedule)
    make_run(RunState.DONE, schedule=schedule)
    said = why(schedule, None, now=NOW)
    assert said.situation is Situation.TO_COME
    assert said.next_at == DUE
    assert said.run is not None
    assert said.run.situation is Situation.SUSPENDED
    assert said.run.rows[0] == RowRef("run", run.pk)


def test_without_an_unfinished_run_it_tells_what_became_of_the_latest_due_time() -> None:
    schedule = fired(make_schedule(misfire_grace_seconds=60), DUE + HOUR)
    said = why(schedule, None)
    assert said.run is not None
    assert said.run.situation is Situation.MISSED_BEYOND_GRACE
    assert said.run.next_step == ""  # once is enough


def test_one_that_never_ran_has_only_its_next_time() -> None:
    said = why(make_schedule(), None, now=NOW)
    assert said.run is None
    assert said.next_at == DUE


def test_for_programs_instants_are_utc_and_rows_are_named() -> None:
    schedule = fired(make_schedule(timezone="Asia/Shanghai", due=utc("2026-06-01 18:00")), utc("2026-06-01 18:00"))
    told = why(schedule, utc("2026-06-01 18:00")).as_json()
    assert told["situation"] == "fired"
    assert told["next_at"] == "2026-06-02T18:00:00+00:00"
    assert {"kind": "run", "id": TaskRun.objects.get().pk} in told["rows"]
    assert told["run"]["situation"] == "due"


def test_asking_changes_nothing() -> None:
    schedule = make_schedule()
    before = list(Schedule.objects.values())
    why(schedule)
    assert list(Schedule.objects.values()) == before
    assert not Fire.objects.exists()


def test_a_skip_says_its_whole_span_at_either_end() -> None:
    schedule = fired(make_schedule(cron="*/10 * * * *", due=DUE), DUE + 25 * MINUTE)
    assert cron.missed(schedule.as_trigger(), DUE, DUE + 20 * MINUTE - A_MOMENT) is not None
    assert Fire.objects.filter(schedule=schedule, kind=FireKind.MISFIRE).exists()
    for at in (DUE, DUE + 10 * MINUTE):
        assert "2 due times (2026-06-02 02:00:00 UTC to 2026-06-02 02:10:00 UTC)" in why(schedule, at).answer

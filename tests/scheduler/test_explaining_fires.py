"""Why a schedule did or did not run at a due time, told from the fires that the domain itself wrote."""

from datetime import date

import pytest

from scheduler import operations, schedules
from scheduler.backfilling import open_backfill
from scheduler.explaining import RowRef, Situation, next_in_words
from scheduler.models import Fire, Schedule
from scheduler.states import FireOutcome, RunState
from tests.scheduler.due_once import DUE, excluding, fired, latest_fire, why
from tests.scheduler.factories import DAY, HOUR, MINUTE, NOW, SECOND, make_run, make_schedule, utc

pytestmark = pytest.mark.django_db


# --- it ran ----------------------------------------------------------------------------------------------------


def test_a_due_time_that_fired_names_its_run_and_says_where_that_stands() -> None:
    schedule = fired(make_schedule(name="Nightly"), DUE + SECOND)
    run = schedule.runs.get()
    said = why(schedule)
    assert said.situation is Situation.FIRED
    assert said.answer == f"“Nightly” fired on time at 2026-06-02 02:00:00 UTC and opened run #{run.pk}."
    assert said.rows[:2] == (RowRef("fire", latest_fire(schedule).pk), RowRef("run", run.pk))
    assert said.run is not None
    assert said.run.situation is Situation.DUE


def test_times_are_told_by_the_clocks_of_the_schedules_zone() -> None:
    schedule = make_schedule(timezone="Asia/Shanghai", now=DUE)
    assert "at 2026-06-03 02:00:00 Asia/Shanghai (in " in next_in_words(why(schedule, None), DUE)


def test_a_late_one_says_how_late_and_that_no_scan_had_fired_it() -> None:
    schedule = fired(make_schedule(), DUE + 20 * MINUTE)
    said = why(schedule)
    assert said.situation is Situation.MADE_UP_LATE
    assert "20 min late: no scan had fired it in time." in said.answer


def test_a_missed_one_that_was_made_up_names_the_fire_that_did_so() -> None:
    schedule = fired(make_schedule(cron="*/10 * * * *", due=DUE), DUE + 25 * MINUTE)
    said = why(schedule, DUE + 10 * MINUTE)
    assert said.situation is Situation.MISSED
    assert "Only the latest is made up." in said.answer
    made_up = Fire.objects.get(schedule=schedule, outcome=FireOutcome.STARTED)
    assert RowRef("fire", made_up.pk) in said.rows


def test_a_missed_one_beyond_the_grace_says_the_grace() -> None:
    schedule = fired(make_schedule(misfire_grace_seconds=600), DUE + HOUR)
    said = why(schedule)
    assert said.situation is Situation.MISSED_BEYOND_GRACE
    assert "beyond the misfire grace of 10 min." in said.answer


def test_one_that_moved_to_the_next_allowed_day_says_so_and_when_it_runs() -> None:
    calendar = excluding(DUE.date(), "Founder's day")
    moving = make_schedule(calendar=calendar, on_excluded=Schedule.OnExcluded.MOVE)
    said = why(fired(moving, DUE + SECOND))
    assert said.situation is Situation.MOVED
    assert "excluded by the calendar “Holidays” (Founder's day). Moved to 2026-06-03 02:00:00 UTC." in said.answer
    assert said.run is not None
    assert said.run.situation is Situation.STARTS_LATER
    assert said.run.next_at == DUE + DAY


def test_an_off_plan_run_does_not_count_and_is_named() -> None:
    schedule = make_schedule()
    early = make_run(RunState.DONE, now=DUE - MINUTE, schedule=schedule)
    said = why(fired(schedule, DUE + SECOND))
    assert said.situation is Situation.OFF_PLAN
    assert (
        f"although run #{early.pk} had done the work of 2026-06-02: that one began at 2026-06-02 01:59" in said.answer
    )
    assert RowRef("run", early.pk) in said.rows


def test_one_by_hand_says_by_whom_and_why_within_the_minute_that_is_asked_about() -> None:
    schedule = make_schedule()
    operations.run_now(schedule, now=NOW + 12 * SECOND, actor="ada", reason="The report was lost")
    said = why(schedule, NOW, now=NOW + MINUTE)
    assert said.situation is Situation.FIRED
    assert said.answer.startswith("ada started run #")
    assert "by hand at 2026-06-01 12:00:12 UTC. The report was lost." in said.answer


def test_one_of_a_backfill_says_so() -> None:
    schedule = make_schedule()
    open_backfill(schedule, date(2026, 5, 1), date(2026, 5, 1), now=NOW, actor="ada")
    assert "for a backfill" in why(schedule, NOW, now=NOW + MINUTE).answer


def test_an_interval_that_counts_from_a_moment_between_is_found_by_its_second_and_by_its_minute() -> None:
    anchor = utc("2026-06-02 02:00:20.123456")
    schedule = fired(make_schedule(interval_seconds=3600, anchor_at=anchor, due=anchor), anchor + SECOND)
    operations.run_now(schedule, now=anchor + 10 * SECOND, actor="ada")
    for at in (anchor, anchor.replace(microsecond=0), anchor.replace(second=0, microsecond=0)):
        assert "fired on time at 2026-06-02 02:00:20" in why(schedule, at).answer
    assert why(schedule, DUE + HOUR, now=DUE + 10 * MINUTE).situation is Situation.TO_COME


# --- it gave way -----------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("state", "situation", "sentence"),
    [
        (RunState.RUNNING, Situation.OVERLAP_IN_PROGRESS, "is still in progress (running)."),
        (RunState.PAUSED, Situation.OVERLAP_IN_PROGRESS, "is still in progress (paused)."),
        (RunState.AWAITING_APPROVAL, Situation.OVERLAP_AWAITING_APPROVAL, "is waiting for an approval. Answer it"),
        (RunState.SUSPENDED, Situation.OVERLAP_SUSPENDED, "is suspended. Let it go on or give it up"),
    ],
)
def test_an_overlap_names_the_run_in_the_way_and_what_to_do(
    state: RunState, situation: Situation, sentence: str
) -> None:
    schedule = make_schedule(overlap=Schedule.Overlap.SKIP)
    blocker = make_run(state, schedule=schedule)
    said = why(fired(schedule, DUE + SECOND))
    assert said.situation is situation
    assert f"Run #{blocker.pk} {sentence}" in said.answer
    assert RowRef("run", blocker.pk) in said.rows
    assert said.run is not None
    assert said.run.rows[0] == RowRef("run", blocker.pk)


def test_work_that_is_done_already_names_the_run_that_did_it() -> None:
    schedule = make_schedule()
    done = make_run(RunState.DONE, now=DUE, schedule=schedule)
    said = why(fired(schedule, DUE + SECOND))
    assert said.situation is Situation.ALREADY_DONE
    assert f"Run #{done.pk} did this data day's work" in said.answer
    assert RowRef("run", done.pk) in said.rows


def test_an_excluded_date_that_is_skipped_names_the_calendar() -> None:
    schedule = fired(make_schedule(calendar=excluding(DUE.date(), "Founder's day")), DUE + SECOND)
    said = why(schedule)
    assert said.situation is Situation.EXCLUDED
    assert "2026-06-02 is excluded by the calendar “Holidays” (Founder's day)." in said.answer


# --- it was stopped --------------------------------------------------------------------------------------------


def test_a_broken_expression_says_what_is_wrong_with_it_at_its_due_time_and_ever_after() -> None:
    schedule = make_schedule()
    Schedule.objects.filter(pk=schedule.pk).update(cron="0 25 * * *")
    fired(schedule, DUE + SECOND)
    for at in (DUE, DUE + DAY, None):
        said = why(schedule, at, now=DUE + 2 * DAY)
        assert said.situation is Situation.BROKEN
        assert "hour field “25” is not between 0 and 23" in said.answer
        assert RowRef("fire", latest_fire(schedule).pk) in said.rows
        assert next_in_words(said, DUE) == "Correct its trigger and save it; then it fires again."


def test_a_disabled_schedule_says_the_reason_that_was_given() -> None:
    schedule = make_schedule()
    schedules.pause(schedule, now=NOW + HOUR, reason="Server move")
    schedule.refresh_from_db()
    for at in (DUE, None, DUE + 2 * DAY):
        said = why(schedule, at)
        assert said.situation is Situation.DISABLED
        assert "is paused: Server move. What falls due meanwhile is left out" in said.answer
        assert next_in_words(said, DUE) == "It fires no more until a person enables it."


def test_what_fell_due_while_it_was_paused_is_one_skip_that_says_so() -> None:
    schedule = make_schedule()
    schedules.pause(schedule, now=NOW, reason="Server move")
    schedules.enable(schedule, now=DUE + 3 * DAY + HOUR)
    schedule.refresh_from_db()
    said = why(schedule, DUE + DAY, now=DUE + 4 * DAY)
    assert said.situation is Situation.LEFT_OUT_WHILE_PAUSED
    assert "The schedule was paused (Server move): 4 due times" in said.answer
    assert said.next_at == DUE + 4 * DAY


def test_what_an_edit_left_out_says_so() -> None:
    schedule = make_schedule()
    schedule.cron = "0 5 * * *"
    schedules.save_changes(schedule, expected_version=1, now=DUE + MINUTE)
    said = why(schedule)
    assert said.situation is Situation.LEFT_OUT_BY_EDIT
    assert "The schedule was changed before it fired: 1 due time (2026-06-02 02:00:00 UTC) left out." in said.answer


def test_a_schedule_past_its_end_says_when_it_ended() -> None:
    schedule = fired(make_schedule(ends_at=DUE + HOUR), DUE + SECOND)
    for at in (DUE + DAY, None):
        said = why(schedule, at, now=DUE + 2 * DAY)
        assert said.situation is Situation.ENDED
        assert "ended at 2026-06-02 03:00:00 UTC: it fires no more." in said.answer


def test_a_schedule_that_has_run_its_one_time_says_so() -> None:
    schedule = fired(make_schedule(once_at=DUE), DUE + SECOND)
    said = why(schedule, None)
    assert said.situation is Situation.ENDED
    assert "was to run once, at 2026-06-02 02:00:00 UTC" in said.answer


def test_a_schedule_before_its_start_says_when_it_starts() -> None:
    schedule = make_schedule(starts_at=DUE + DAY)
    for at in (DUE, None):
        said = why(schedule, at)
        assert said.situation is Situation.NOT_STARTED_YET
        assert "starts at 2026-06-03 02:00:00 UTC only" in said.answer
        assert said.next_at == DUE + DAY

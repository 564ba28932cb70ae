"""Why a schedule ran or did not run at an instant, told from the rows that the domain itself wrote."""

from datetime import date, datetime

import pytest

from scheduler import cron, firing, operations, schedules
from scheduler.backfilling import open_backfill
from scheduler.explaining import Explanation, RowRef, Scan, Scans, Situation, explain, next_in_words
from scheduler.models import Calendar, Fire, Schedule, TaskRun
from scheduler.states import FireKind, FireOutcome, RunState
from tests.scheduler.factories import A_MOMENT, DAY, HOUR, MINUTE, NOW, SECOND, make_run, make_schedule, utc

pytestmark = pytest.mark.django_db

DUE = utc("2026-06-02 02:00")
LIVELY = Scans(Scan(NOW), Scan(NOW), Scan(NOW))


def fired(schedule: Schedule, now: datetime) -> Schedule:
    """Return the schedule after a scan."""
    firing.fire_all_due(now=now)
    schedule.refresh_from_db()
    return schedule


def why(schedule: Schedule, at: datetime | None = DUE, *, now: datetime = DUE + HOUR) -> Explanation:
    """Ask, while all scans run."""
    scan = Scan(now)
    return explain(schedule, at=at, now=now, scans=Scans(scan, scan, scan))


def latest_fire(schedule: Schedule) -> Fire:
    return Fire.objects.filter(schedule=schedule).latest("pk")


def excluding(day: date, title: str) -> Calendar:
    calendar = Calendar.objects.create(name="Holidays")
    calendar.days.create(date=day, title=title)
    return calendar


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

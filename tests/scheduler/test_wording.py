"""The sentences in which rows say why."""

from datetime import timedelta

import pytest

from scheduler import wording
from scheduler.cron import Missed
from scheduler.firing import Plan
from scheduler.models import Schedule
from scheduler.run_messages import Opened, ToldRun
from scheduler.states import AttemptOutcome, EventTrigger, FireKind, RunState
from tests.scheduler.factories import HOUR, MINUTE, NOW, SECOND

BERLIN = Schedule(timezone="Europe/Berlin", misfire_grace_seconds=3600, pause_reason="moving house")
ONE = Missed(NOW, NOW, 1, capped=False)
THREE = Missed(NOW, NOW + 2 * HOUR, 3, capped=False)
MANY = Missed(NOW, NOW + 2 * HOUR, 1000, capped=True)


@pytest.mark.parametrize(
    ("opened", "text"),
    [
        (Opened(EventTrigger.SCHEDULE), "Started by its schedule"),
        (Opened(EventTrigger.SCHEDULE, made_up_late=3 * MINUTE), "Made up after a miss, 3 min late"),
        (Opened(EventTrigger.MANUAL, "Ada"), "Started by hand by Ada"),
        (Opened(EventTrigger.MANUAL), "Started by hand"),
        (Opened(EventTrigger.API, "ci"), "Started through the API by ci"),
        (Opened(EventTrigger.MANUAL, "ada", rerun_of=12), "Rerun of #12, started by hand by ada"),
        (Opened(EventTrigger.API, "ci", rerun_of=12), "Rerun of #12, started through the API by ci"),
        (Opened(EventTrigger.BACKFILL, "ada", backfill=3), "For backfill #3, asked for by ada"),
        (Opened(EventTrigger.MANUAL, "ada", rerun_of=12, made_up_late=MINUTE), "Rerun of #12, started by hand by ada"),
    ],
)
def test_how_a_run_came_to_be_is_said_of_each(opened: Opened, text: str) -> None:
    assert wording.how_it_came(opened) == text


@pytest.mark.parametrize(
    ("failures", "retries", "outcome", "says"),
    [
        (1, 0, AttemptOutcome.FAILED, "; it has no retries."),
        (2, 1, AttemptOutcome.FAILED, "; its retry is used up."),
        (3, 2, AttemptOutcome.TIMED_OUT, "; its 2 retries are used up."),
        (1, 2, AttemptOutcome.FAILED, "; no retry would help."),
        (0, 2, AttemptOutcome.LOST, " on the worker host:1."),
    ],
)
def test_of_the_last_attempt_it_is_said_why_there_is_no_other(
    failures: int, retries: int, outcome: AttemptOutcome, says: str
) -> None:
    opened = Opened(EventTrigger.SCHEDULE)
    run = ToldRun(
        *(1, "nightly", "test.noop", NOW.date(), None, opened),
        attempt=3,
        worker="host:1",
        outcome=outcome,
        failures=failures,
        retries=retries,
    )
    sentence = wording.last_attempt(run)
    assert sentence.startswith("It ended with attempt 3 on the worker host:1")
    assert sentence.endswith(says)


@pytest.mark.parametrize(
    ("span", "text"),
    [
        (timedelta(0), "0 s"),
        (timedelta(milliseconds=400), "0 s"),
        (timedelta(milliseconds=600), "1 s"),
        (timedelta(seconds=59), "59 s"),
        (timedelta(seconds=60), "1 min"),
        (timedelta(seconds=61), "1 min 1 s"),
        (timedelta(hours=1), "1 h"),
        (timedelta(hours=1, seconds=5), "1 h"),
        (timedelta(hours=2, minutes=5, seconds=7), "2 h 5 min"),
        (timedelta(days=1), "1 d"),
        (timedelta(days=400, hours=3, minutes=9), "400 d 3 h"),
    ],
)
def test_a_span_is_said_in_its_two_largest_units(span: timedelta, text: str) -> None:
    assert wording.duration(span) == text


@pytest.mark.parametrize(
    ("zone", "text"),
    [
        ("Europe/Berlin", "2026-06-01 14:00:00 Europe/Berlin"),
        ("UTC", "2026-06-01 12:00:00 UTC"),
        ("Mars/Olympus", "2026-06-01 12:00:00 UTC"),
    ],
)
def test_an_instant_is_said_as_the_clocks_of_the_zone_show_it_and_in_utc_where_the_zone_is_gone(
    zone: str, text: str
) -> None:
    assert wording.local(NOW, zone) == text


@pytest.mark.parametrize(
    ("plan", "text"),
    [
        (Plan(None, NOW, FireKind.SCHEDULED), ""),
        (Plan(None, NOW, FireKind.MISFIRE), "Made up 5 min late."),
        (Plan(None, None, FireKind.MISFIRE), ""),
    ],
)
def test_a_run_says_how_late_it_was_made_up_and_nothing_when_it_is_on_time(plan: Plan, text: str) -> None:
    assert wording.started(plan, NOW + 5 * MINUTE) == text


def test_a_skip_says_how_many_due_times_it_stands_for_in_the_zone_of_the_schedule() -> None:
    span = "(2026-06-01 14:00:00 Europe/Berlin to 2026-06-01 16:00:00 Europe/Berlin)"
    one = "(2026-06-01 14:00:00 Europe/Berlin)"
    assert wording.missed(ONE, BERLIN, made_up=None) == (
        f"Nobody scanned: 1 due time {one} missed, beyond the misfire grace of 1 h."
    )
    assert wording.missed(THREE, BERLIN, made_up=NOW + 3 * HOUR) == (
        f"Nobody scanned: 3 due times {span} missed. Only the latest is made up."
    )
    assert wording.paused(MANY, BERLIN) == (
        f"The schedule was paused (moving house): more than 1000 due times {span} left out."
    )
    assert wording.paused(ONE, Schedule(timezone="Europe/Berlin")) == (
        f"The schedule was paused: 1 due time {one} left out."
    )
    assert wording.changed(ONE, BERLIN) == f"The schedule was changed before it fired: 1 due time {one} left out."


@pytest.mark.parametrize("state", RunState)
def test_an_overlap_is_said_in_one_of_three_wordings_with_what_to_do(state: RunState) -> None:
    sentence = wording.overlap(7, state)
    assert sentence.startswith("Run #7 is ")
    if state == RunState.AWAITING_APPROVAL:
        assert sentence == "Run #7 is waiting for an approval. Answer it, then the schedule goes on."
    elif state == RunState.SUSPENDED:
        assert sentence == "Run #7 is suspended. Let it go on or give it up, then the schedule goes on."
    else:
        assert sentence == f"Run #7 is still in progress ({state.label})."


def test_work_that_is_done_names_its_run_and_its_start() -> None:
    assert wording.already_done(7, NOW + SECOND) == (
        "Run #7 did this data day's work; it started at 2026-06-01 12:00:01 UTC, on plan."
    )


def test_a_broken_schedule_says_what_is_wrong_and_what_to_do() -> None:
    assert wording.broken("The hour is 25.") == (
        "The trigger cannot be read, so the schedule is stopped: The hour is 25. Correct it and save."
    )

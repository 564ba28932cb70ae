"""Rows become lanes: what each shape says, and where it stands."""

from dataclasses import replace
from datetime import datetime
from typing import Any
from zoneinfo import ZoneInfo

from django.utils import timezone

from project.timeline.layout import timeline_of
from project.timeline.rows import MOST_ONE_BY_ONE, Ended, Fired, FireRow, Plan, Reset, Rows, RunRow, Shown, Waited
from project.timeline.shapes import Lane
from project.timeline.window import window_around
from scheduler.states import FireKind, FireOutcome, RunState
from tests.scheduler.factories import HOUR, MINUTE, NOW, SECOND, utc

WINDOW = window_around(NOW)  # from noon of the day before to 13:00 of the day after
REPORT = Shown(1, "report", "Every day", Plan())
AT = NOW - 2 * HOUR


def lanes_of(**rows: Any) -> dict[str, Lane]:
    return {str(lane.name): lane for lane in timeline_of(Rows(**rows), WINDOW).lanes}


def lane_of(*, shown: Shown = REPORT, **rows: Any) -> Lane:
    return lanes_of(shown=[shown], **rows)["report"]


def run_at(start: datetime, *, state: RunState = RunState.DONE, **fields: Any) -> RunRow:
    values = {"due_at": None, "created_at": start, "started_at": start, "finished_at": start + HOUR}
    return RunRow(id=7, schedule_id=1, state=state, **values | fields)


def fire_at(instant: datetime, **fields: Any) -> FireRow:
    values = {"kind": FireKind.SCHEDULED, "outcome": FireOutcome.STARTED}
    return FireRow(id=9, schedule_id=1, fire_at=instant, **values | fields)


def test_nothing_is_an_empty_picture() -> None:
    assert timeline_of(Rows(), WINDOW).is_empty


def test_a_run_is_a_bar_from_its_start_to_its_end_in_the_colour_of_its_state() -> None:
    (bar,) = lane_of(runs=[run_at(WINDOW.start)]).bars
    assert (bar.x, bar.width, bar.look) == ("0.00%", "2.04%", "green")  # an hour of 49
    assert bar.title.startswith("#7 · done")
    assert bar.title.endswith("1 h")


def test_a_short_run_can_be_seen_and_one_that_runs_yet_ends_now() -> None:
    short, running = (
        lane_of(runs=[run]).bars[0]
        for run in (
            run_at(AT, finished_at=AT + SECOND),
            run_at(AT, state=RunState.RUNNING, finished_at=None),
        )
    )
    assert short.width == "0.30%"
    assert running.width == "4.08%"
    assert running.title.endswith("2 h so far")


def test_what_has_begun_and_waits_lies_low_and_what_is_tried_again_waits() -> None:
    paused, failed = (
        lane_of(runs=[run_at(AT, state=state, finished_at=None, due_at=due_at)]).bars[0].look
        for state, due_at in ((RunState.PAUSED, None), (RunState.FAILED, NOW))
    )
    assert (paused, failed) == ("violet held", "amber held")


def test_how_long_a_run_waited_to_begin_is_a_line_before_its_bar() -> None:
    waiting, run = lane_of(runs=[run_at(AT, created_at=AT - HOUR)]).bars
    assert (waiting.look, waiting.width) == ("waiting", "2.04%")
    assert run.x > waiting.x
    (never_begun,) = lane_of(runs=[run_at(AT, state=RunState.PENDING, started_at=None, finished_at=None)]).bars
    assert never_begun.look == "waiting"
    assert never_begun.title.endswith("not begun")


def test_fires_are_told_apart_those_made_up_and_those_without_a_run() -> None:
    fires = [
        fire_at(AT, kind=FireKind.MISFIRE),
        fire_at(AT, kind=FireKind.MISFIRE, outcome=FireOutcome.SKIPPED_MISFIRE, missed_count=5, reason="It was down."),
        fire_at(AT, outcome=FireOutcome.FAILED_TO_START, reason="No such job."),
    ]
    marks = lane_of(fires=fires).marks
    assert [(mark.form, mark.look) for mark in marks] == [
        ("made-up", "violet"),
        ("missed", "amber"),
        ("missed", "red"),
    ]
    assert marks[1].title.endswith("skipped: missed · 5 due times\nIt was down.")


def test_planned_times_are_marks_and_an_excluded_one_says_why() -> None:
    plan = Plan([NOW + HOUR, NOW + 2 * HOUR], remarks={NOW + 2 * HOUR: "A holiday."})
    lane = lane_of(shown=replace(REPORT, plan=plan))
    assert [mark.form for mark in lane.marks] == ["planned", "left-out"]
    assert lane.marks[1].title.endswith("A holiday.")
    assert lane.sums
    assert lane.sums.planned == "2"


def test_too_many_planned_times_are_a_band_to_the_end() -> None:
    lane = lane_of(shown=replace(REPORT, plan=Plan([NOW, NOW + MINUTE], goes_on=True)))
    assert (len(lane.marks), lane.bars[0].look) == (1, "goes-on")
    assert lane.sums
    assert lane.sums.planned == "2+"


def test_a_busy_lane_is_drawn_hour_by_hour_and_a_single_failure_can_be_seen() -> None:
    hour = WINDOW.hour_of(AT)
    ended = [Ended(1, hour, RunState.DONE, MOST_ONE_BY_ONE), Ended(1, hour, RunState.FAILED, 1)]
    fired = [Fired(1, hour, FireKind.MISFIRE, FireOutcome.SKIPPED_MISFIRE, 1, 4)]
    lane = lane_of(ended=ended, fired=fired, runs=[run_at(AT)])
    assert [bar.look for bar in lane.bars] == ["green", "amber", "red"]
    assert sum(bar.height for bar in lane.bars) == 18
    assert [bar.text for bar in lane.bars] == ["", "", str(MOST_ONE_BY_ONE + 1)]
    assert lane.bars[0].title.endswith(f"\n1 failed, {MOST_ONE_BY_ONE} done, 4 skipped: missed")


def test_what_has_no_lane_is_gathered_in_one_with_counts() -> None:
    hour = WINDOW.hour_of(AT)
    ended = [
        Ended(1, hour, RunState.DONE, 1),
        Ended(2, hour, RunState.DONE, 1200),
        Ended(None, hour, RunState.DONE, 34),
    ]
    lane = lanes_of(shown=[REPORT], ended=ended, planned_elsewhere={30: 3})["All others"]
    assert [(bar.look, bar.text) for bar in lane.bars] == [("green", "1k"), ("planned", "3")]
    assert lane.sums
    assert (lane.sums.done, lane.sums.planned) == (1234, "3")


def test_the_sums_tell_made_up_times_from_those_without_a_run() -> None:
    fired = [
        Fired(1, 3, FireKind.SCHEDULED, FireOutcome.STARTED, 8, 8),
        Fired(1, 3, FireKind.MISFIRE, FireOutcome.STARTED, 2, 2),
        Fired(1, 3, FireKind.MISFIRE, FireOutcome.SKIPPED_MISFIRE, 1, 40),
    ]
    sums = lane_of(fired=fired).sums
    assert sums
    assert (sums.made_up, sums.missed) == (2, 40)


def test_what_waited_is_counted_at_the_end_of_each_hour() -> None:
    waited = [Waited(0, 0, 9), Waited(0, 2, 4), Waited(1, None, 1)]
    bars = lanes_of(waited=waited)["Waiting to begin"].bars
    assert [bar.text for bar in bars[:4]] == ["4", "5", "1", "1"]
    assert len(bars) == 25
    assert bars[1].height > bars[2].height


def test_quotas_that_reset_together_are_one_mark_that_leads_to_all_of_them() -> None:
    resets = [Reset(1, "calls", NOW + HOUR), Reset(2, "tokens", NOW + HOUR), Reset(1, "calls", NOW + 2 * HOUR)]
    both, alone = lanes_of(resets=resets)["Quota resets"].marks
    assert both.title.endswith("\ncalls, tokens")
    assert both.url.endswith("/quotas/quota/")
    assert alone.url.endswith("/quotas/quota/1/change/")


def test_the_hours_are_those_of_the_viewers_clocks() -> None:
    with timezone.override(ZoneInfo("Asia/Kolkata")):
        window = window_around(utc("2026-06-01 12:10"))  # 17:40 there
        ticks = timeline_of(Rows(), window).ticks
    assert window.start == utc("2026-05-31 11:30")
    assert [tick.text for tick in ticks[:3]] == ["18:00", "21:00", "06-01"]
    assert [tick.strong for tick in ticks[:3]] == [False, False, True]


def test_where_more_happened_than_is_read_the_picture_says_so() -> None:
    assert timeline_of(Rows(cut=True), WINDOW).note
    assert not timeline_of(Rows(), WINDOW).note

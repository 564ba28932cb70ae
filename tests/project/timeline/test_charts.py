"""Rows become columns on a scale."""

from datetime import timedelta

import pytest

from project.timeline.charts import BOTTOM, TOP, charts_of
from project.timeline.rows import Ended, Late, Rows, Waited
from project.timeline.shapes import Charts
from project.timeline.window import window_around
from scheduler.states import RunState
from tests.scheduler.factories import MINUTE, NOW, SECOND

WINDOW = window_around(NOW)
MOMENT = timedelta(milliseconds=20)


def drawn(*, ended: list[Ended] = [], late: list[Late] = []) -> Charts:  # noqa: B006 -- only read
    return charts_of(Rows(ended=ended, late=late), WINDOW)


def test_the_runs_of_an_hour_are_stacked_done_below_failed() -> None:
    ended = [Ended(1, 3, RunState.FAILED, 1), Ended(1, 3, RunState.DONE, 2), Ended(2, 3, RunState.DONE, 1)]
    done, failed = drawn(ended=ended).runs.bars
    assert (done.look, failed.look) == ("green", "red")
    assert failed.y + failed.height == done.y
    assert done.y + done.height == BOTTOM
    assert (failed.y, done.height) == (TOP, 3 * failed.height)  # four is the top of the scale
    assert done.title.endswith("1 failed, 3 done")


@pytest.mark.parametrize(("most", "levels"), [(1, "0 1 2"), (3, "0 2 4"), (21, "0 20 40"), (1234, "0 1,000 2,000")])
def test_the_scale_of_the_runs_ends_at_a_round_number(most: int, levels: str) -> None:
    chart = drawn(ended=[Ended(1, 0, RunState.DONE, most)]).runs
    assert " ".join(level.text for level in chart.levels) == levels


def test_a_single_failure_among_many_can_be_seen() -> None:
    ended = [Ended(1, 0, RunState.DONE, 9_999), Ended(1, 0, RunState.FAILED, 1)]
    assert drawn(ended=ended).runs.bars[1].height >= 1


def test_the_lateness_of_an_hour_goes_from_p50_to_p95_on_a_scale_that_holds_it() -> None:
    chart = drawn(late=[Late(5, 40, SECOND, MINUTE)]).lateness
    span, half = chart.bars
    assert [level.text for level in chart.levels] == ["100 ms", "1 s", "10 s", "1 min"]
    assert (span.look, span.y) == ("p95", TOP)
    assert half.look == "p50"
    assert half.y < span.y + span.height <= half.y + half.height
    assert span.title.endswith("40 executions began: p50 1 s, p95 1 min late")


def test_lateness_below_the_scale_stands_at_its_foot() -> None:
    chart = drawn(late=[Late(5, 1, MOMENT, MOMENT)]).lateness
    assert all(bar.y + bar.height >= BOTTOM for bar in chart.bars)


def test_the_table_has_a_line_for_each_hour_of_which_something_is_known() -> None:
    rows = Rows(ended=[Ended(1, 3, RunState.DONE, 2)], late=[Late(4, 1, MOMENT, SECOND)], waited=[Waited(5, 6, 7)])
    columns = charts_of(rows, WINDOW).columns
    assert [(column.done, column.waiting, column.p50, column.p95) for column in columns] == [
        (2, 0, "–", "–"),
        (0, 0, "20 ms", "1 s"),
        (0, 7, "–", "–"),
    ]

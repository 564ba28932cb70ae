"""The page of a schedule: what its runs did, what has not ended, and what a changed trigger would do."""

import re
from collections.abc import Sequence
from datetime import timedelta

import pytest

from project.kit.clock import database_now
from scheduler.admin import open_runs
from scheduler.admin.run_history import RUNS_SHOWN, RunHistory, history_of
from scheduler.models import Schedule, TaskRun
from scheduler.states import RunState
from tests.panel import chief, text_of
from tests.scheduler.admin.desk import list_of, page_of
from tests.scheduler.factories import HOUR, MINUTE, NOW, SECOND, make_run, make_schedule

pytestmark = pytest.mark.django_db


def ended(schedule: Schedule, took: timedelta, state: RunState = RunState.DONE) -> TaskRun:
    """Insert a run of the schedule that ended after so long."""
    fields = {"started_at": NOW - took, "schedule": schedule}
    return make_run(state, now=NOW, ended=state == RunState.FAILED, **fields)


def picture(lengths: Sequence[timedelta]) -> RunHistory:
    """Return the picture of runs that were done within these durations, the latest last."""
    schedule = make_schedule()
    return history_of([ended(schedule, length) for length in lengths], NOW)


# --- the picture of the last runs ----------------------------------------------------------------------------------


def test_a_run_is_a_column_as_high_as_it_took_long() -> None:
    short, long = picture([10 * SECOND, 20 * SECOND]).columns
    assert long.height == 2 * short.height
    assert short.y + short.height == long.y + long.height


def test_the_lines_are_what_half_and_what_95_of_100_of_the_done_runs_keep() -> None:
    history = picture([SECOND * length for length in range(1, 21)])
    assert [line.text for line in history.lines] == ["half within 10 s", "95 of 100 within 19 s"]
    assert history.longest == "20 s"


def test_failed_runs_are_marked_and_do_not_count_as_what_is_usual() -> None:
    schedule = make_schedule()
    runs = [ended(schedule, MINUTE), ended(schedule, SECOND, RunState.FAILED)]
    history = history_of(runs, NOW)
    assert [column.look for column in history.columns] == ["green", "red"]
    assert history.lines[0].text == "half within 1 min"
    assert history.counts == [("red", "1 failed"), ("green", "1 done")]


def test_one_run_that_took_hours_does_not_flatten_the_minutes_of_the_others() -> None:
    history = picture([MINUTE] * 30 + [9 * HOUR])
    assert history.columns[-1].cut
    assert not history.columns[0].cut
    assert history.columns[0].height * 2 == history.columns[-1].height
    assert history.longest == "9 h"


def test_a_run_that_never_began_has_no_column_and_one_that_took_no_time_a_thin_one() -> None:
    schedule = make_schedule()
    history = history_of([ended(schedule, timedelta()), make_run(schedule=schedule)], NOW)
    assert [column.height for column in history.columns] == [2, 0]


def test_a_run_that_goes_on_is_as_long_as_it_took_so_far() -> None:
    schedule = make_schedule()
    run = make_run(RunState.RUNNING, now=NOW - MINUTE, schedule=schedule)
    assert "1 min so far" in history_of([run], NOW).columns[0].label


def test_the_page_shows_the_last_60_runs_each_linked_and_only_the_latest_in_the_way_of_the_tab_key() -> None:
    schedule = make_schedule()
    runs = [ended(schedule, MINUTE) for _ in range(RUNS_SHOWN + 2)]
    html = chief().get(page_of(schedule)).content.decode()
    svg = html[html.index('<svg class="history"') :].partition("</svg>")[0]
    assert re.findall(r'href="([^"]+)"', svg) == [page_of(run) for run in runs[2:]]
    assert svg.count('tabindex="0"') == 1
    assert f"#{runs[-1].pk} · {runs[-1].stat_date} · done · 1 min" in svg


# --- what has not ended --------------------------------------------------------------------------------------------


@pytest.mark.parametrize("overlap", ["queue", "allow"])
def test_the_page_shows_what_has_not_ended_the_oldest_first_and_why_it_waits(overlap: str) -> None:
    schedule, now = make_schedule(overlap=overlap), database_now()
    first = make_run(RunState.SUSPENDED, now=now, schedule=schedule, reason="The worker was lost.")
    make_run(RunState.DONE, now=now, schedule=schedule)
    second = make_run(now=now, schedule=schedule)
    make_run(now=now, schedule=make_schedule())
    lines = chief().get(page_of(schedule)).context["overview"]["open_runs"]["lines"]
    assert [line["run"] for line in lines] == [f'<a href="{page_of(run)}">#{run.pk}</a>' for run in (first, second)]
    assert lines[0]["reason"] == "The worker was lost."


def test_of_many_that_wait_the_page_shows_the_oldest_and_leads_to_the_others() -> None:
    schedule, now = make_schedule(), database_now()
    for _ in range(12):
        make_run(now=now, schedule=schedule)
    shown = chief().get(page_of(schedule)).context["overview"]["open_runs"]
    assert len(shown["lines"]) == 8
    assert shown["more"]


def test_where_runs_may_overlap_the_page_says_among_how_many_it_looked(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(open_runs, "RUNS_LOOKED_THROUGH", 2)
    schedule, now, client = make_schedule(overlap="allow"), database_now(), chief()
    make_run(now=now, schedule=schedule)
    make_run(RunState.DONE, now=now, schedule=schedule)
    assert "Looked for among" not in text_of(client.get(page_of(schedule)))
    make_run(RunState.DONE, now=now, schedule=schedule)
    assert "Not ended None. Looked for among its latest 2 runs." in text_of(client.get(page_of(schedule)))


# --- a changed trigger beside the saved one ------------------------------------------------------------------------


def preview(schedule: Schedule, **typed: str) -> str:
    """Return what is shown while the schedule's trigger is being typed."""
    values = {"trigger": "cron", "timezone": "UTC", "beside": str(schedule.pk), **typed}
    return text_of(chief().get(list_of("schedule") + "preview/", values))


def test_a_changed_trigger_stands_beside_the_saved_one_and_what_differs_is_said() -> None:
    text = preview(make_schedule(cron="0 2 * * *"), cron="0 2,3 * * *")
    saved, typed = text.split("As typed")
    assert "As saved" in saved
    assert "no more" not in saved
    assert typed.count(" new") in (2, 3)


def test_a_time_that_would_be_no_more_is_said() -> None:
    saved, typed = preview(make_schedule(cron="0 2 * * *"), cron="0 3 * * *").split("As typed")
    assert saved.count("no more") == 5
    assert typed.count(" new") == 5


def test_while_the_typed_trigger_is_wrong_the_saved_one_stays_in_sight() -> None:
    saved, typed = preview(make_schedule(cron="0 2 * * *"), cron="0 99 * * *").split("As typed")
    assert "02:00" in saved
    assert "99" in typed


def test_a_new_schedule_has_nothing_to_compare_with() -> None:
    values = {"trigger": "cron", "timezone": "UTC", "cron": "0 2 * * *", "beside": ""}
    text = text_of(chief().get(list_of("schedule") + "preview/", values))
    assert "As saved" not in text
    assert "02:00" in text

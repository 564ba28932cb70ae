"""What the pictures are made of: the right rows, and a fixed number of queries whatever there is."""

from datetime import datetime

import pytest
from django.contrib.auth.models import Permission, User
from django.db import connection
from django.test import Client
from django.test.utils import CaptureQueriesContext
from django.urls import reverse

from project.kit.clock import database_now
from project.timeline import pictures, reading
from project.timeline.reading import LANES, MOST_PLANNED, read
from project.timeline.rows import Rows
from project.timeline.window import window_around
from scheduler.models import Attempt, Fire, Schedule
from scheduler.states import FireKind, FireOutcome, RunState
from tests.panel import chief, name_of, text_of
from tests.quotas.factories import make_daily, make_quota
from tests.scheduler.admin.desk import person
from tests.scheduler.factories import DAY, HOUR, MINUTE, NOW, SECOND, make_calendar, make_run, make_schedule

pytestmark = pytest.mark.django_db

HOME = reverse("admin:index")


def rows_at(now: datetime = NOW) -> Rows:
    return read(window_around(now), with_quotas=True)


def make_fire(schedule: Schedule, at: datetime, *, outcome: FireOutcome = FireOutcome.STARTED) -> Fire:
    reason = "" if outcome == FireOutcome.STARTED else "It was so."
    kind = FireKind.SCHEDULED
    return Fire.objects.create(schedule=schedule, fire_at=at, kind=kind, outcome=outcome, reason=reason, recorded_at=at)


def make_history(schedules: int, *, now: datetime = NOW) -> None:
    """Insert schedules, each with a fire and its run an hour ago, and one that was skipped."""
    for _ in range(schedules):
        schedule = make_schedule(now=now)
        make_run(RunState.DONE, now=now - HOUR, schedule=schedule, fire=make_fire(schedule, now - HOUR))
        make_fire(schedule, now - 2 * HOUR, outcome=FireOutcome.SKIPPED_OVERLAP)


def test_runs_and_fires_are_counted_by_the_hour_and_read_one_by_one_for_the_lanes() -> None:
    make_history(1)
    make_run(RunState.FAILED, now=NOW - 2 * DAY, ended=True)
    rows = rows_at()
    assert [(each.hour, each.state, each.count) for each in rows.ended] == [(23, RunState.DONE, 1)]
    assert sorted((each.hour, each.outcome) for each in rows.fired) == [(22, "skipped_overlap"), (23, "started")]
    assert [(run.state, run.kind) for run in rows.runs] == [(RunState.DONE, FireKind.SCHEDULED)]
    assert [fire.outcome for fire in rows.fires] == [FireOutcome.SKIPPED_OVERLAP]  # the run says all of the other
    assert [(each.hour, each.count) for each in rows.late] == [(23, 1)]
    assert not rows.cut


def test_schedules_whose_runs_fail_have_a_lane_before_those_that_are_busy() -> None:
    make_history(LANES)
    failing = make_schedule(now=NOW)
    make_run(RunState.FAILED, now=NOW - HOUR, schedule=failing, ended=True)
    assert failing.pk in {shown.id for shown in rows_at().shown}


def test_the_busiest_schedules_have_a_lane_and_the_others_are_counted() -> None:
    for _ in range(LANES + 2):
        make_schedule(now=NOW)  # daily at 02:00
    busy = make_schedule(now=NOW, name="busy", interval_seconds=86_400 * 7)
    make_run(RunState.DONE, now=NOW - HOUR, schedule=busy)
    rows = rows_at()
    assert len(rows.shown) == LANES
    assert "busy" in [shown.name for shown in rows.shown]
    assert rows.planned_elsewhere == {24 + 14: 3}


def test_what_is_planned_follows_the_trigger_and_the_excluded_days() -> None:
    make_schedule(now=NOW, calendar=make_calendar("2026-06-02"))
    make_schedule(now=NOW, name="often", interval_seconds=60)
    make_schedule(now=NOW, name="paused", enabled=False)
    daily, often = sorted(rows_at().shown, key=lambda shown: shown.name == "often")
    (instant,) = daily.plan.instants
    assert instant == NOW + 14 * HOUR
    assert "2026-06-02" in daily.plan.remarks[instant]
    assert (len(often.plan.instants), often.plan.goes_on) == (MOST_PLANNED, True)


def test_a_trigger_that_cannot_be_read_any_more_plans_nothing() -> None:
    Schedule.objects.filter(pk=make_schedule(now=NOW).pk).update(timezone="Nowhere/Else")
    (shown,) = rows_at().shown
    assert not shown.plan.instants


def test_what_waits_to_begin_is_known_by_when_it_was_opened_and_when_it_left() -> None:
    make_run(RunState.PENDING, now=NOW - 3 * HOUR)
    make_run(RunState.DONE, now=NOW - HOUR, created_at=NOW - 3 * HOUR)
    make_run(RunState.RUNNING, now=NOW - 2 * DAY, created_at=NOW - 3 * DAY)
    waited = {(each.opened, each.left, each.count) for each in rows_at().waited}
    assert waited == {(21, None, 1), (21, 23, 1), (0, 0, 1)}


def test_resets_are_those_of_the_window_also_before_now() -> None:
    make_daily()
    often = make_quota(kind=make_daily().kind, reset_preset="cron", reset_cron="* * * * *", key="often")
    resets = rows_at().resets
    assert {reset.at for reset in resets if reset.quota_id != often.pk} == {NOW - 12 * HOUR, NOW + 12 * HOUR}
    assert [reset.at for reset in resets if reset.quota_id == often.pk] == [NOW + MINUTE]


def test_where_there_is_more_than_is_read_the_latest_count(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(reading, "MOST_ROWS", 3)
    make_history(5)
    rows = rows_at()
    assert rows.cut
    assert sum(each.count for each in rows.ended) == 3


def test_a_worker_whose_clock_was_early_is_not_late() -> None:
    run = make_run(RunState.DONE, now=NOW - HOUR)
    Attempt.objects.filter(run=run).update(due_at=NOW - HOUR + SECOND)
    assert pictures(NOW, with_quotas=False)["charts"].lateness.bars


def test_it_asks_as_often_for_many_rows_as_for_few() -> None:
    def queries() -> int:
        with CaptureQueriesContext(connection) as captured:
            pictures(NOW, with_quotas=True)
        return len(captured)

    make_history(1)
    make_daily()
    few = queries()
    make_history(LANES + 5)
    make_daily()
    assert queries() == few == 10


# --- on the page ---------------------------------------------------------------------------------------------------


def test_the_page_draws_much_and_says_where_there_is_nothing() -> None:
    client = chief()
    assert "Nothing ran, and nothing is planned." in text_of(client.get(HOME))
    make_history(LANES + 5, now=database_now())
    page = client.get(HOME)
    assert page.content.decode().count('class="run green"') == LANES
    assert "All others" in text_of(page)


def test_a_name_with_markup_is_text() -> None:
    make_schedule(now=database_now(), name="<b>&amp;", cron="* * * * *")
    assert "<b>" not in client_page(chief())


def test_who_may_not_see_quotas_sees_no_resets_and_who_sees_no_runs_no_picture() -> None:
    make_history(1, now=database_now())
    make_daily(now=database_now())
    assert "Quota resets" in client_page(chief())
    somebody = person()
    assert "Quota resets" not in client_page(somebody)
    User.objects.get(username=name_of(somebody)).user_permissions.remove(
        Permission.objects.get(codename="view_taskrun")
    )
    assert 'id="timeline"' not in client_page(somebody)


def client_page(client: Client) -> str:
    return client.get(HOME).content.decode()

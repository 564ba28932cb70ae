"""The pages answer why something ran or did not, and lead to the rows that show it."""

import pytest
from django.test import Client

from project.kit.clock import database_now
from project.scans import mark
from scheduler import firing
from scheduler.models import Schedule
from scheduler.states import RunState
from tests.panel import chief, text_of
from tests.scheduler.admin.desk import page_of
from tests.scheduler.factories import HOUR, MINUTE, NOW, SECOND, make_run, make_schedule, utc

pytestmark = pytest.mark.django_db

DUE = utc("2026-06-02 02:00")


def asked(client: Client, schedule: Schedule, at: str) -> str:
    """Ask on a schedule's page about an instant on its clocks, and return the page's text."""
    return text_of(client.get(page_of(schedule), {"why_at": at}))


def test_a_schedules_page_says_what_it_does_next_and_links_what_shows_it() -> None:
    now = database_now()
    mark("fire due schedules", by="test")
    schedule = make_schedule(name="Nightly", now=now)
    run = make_run(RunState.SUSPENDED, now=now, schedule=schedule)
    page = chief().get(page_of(schedule))
    assert "“Nightly” is enabled and waits for its next due time. It fires next in" in text_of(page)
    assert f"Run #{run.pk} was interrupted and is suspended" in text_of(page)
    assert f'<a href="{page_of(run)}">run #{run.pk}</a>' in page.content.decode()


def test_a_schedules_page_answers_for_an_instant_on_the_schedules_own_clocks() -> None:
    schedule = make_schedule(cron="0 10 * * *", timezone="Asia/Shanghai", due=DUE)
    firing.fire_all_due(now=DUE + SECOND)
    text = asked(chief(), schedule, "2026-06-02T10:00")
    assert f"fired on time at 2026-06-02 10:00:00 Asia/Shanghai and opened run #{schedule.runs.get().pk}" in text


def test_a_fires_page_says_which_rule_decided_and_where_the_run_stands_that_it_gave_way_to() -> None:
    schedule = make_schedule(due=DUE, overlap=Schedule.Overlap.SKIP)
    blocker = make_run(RunState.SUSPENDED, schedule=schedule)
    firing.fire_all_due(now=DUE + SECOND)
    text = text_of(chief().get(page_of(schedule.fires.get())))
    assert f"started no run for 2026-06-02 02:00:00 UTC. Run #{blocker.pk} is suspended." in text
    assert f"Run #{blocker.pk} was interrupted and is suspended" in text


def test_an_instant_that_is_none_is_refused_beside_its_field() -> None:
    page = chief().get(page_of(make_schedule(now=database_now())), {"why_at": "yesterday"})
    assert page.status_code == 200
    assert "Enter a valid date/time." in text_of(page)
    assert "is not a due time" not in text_of(page)


def test_a_run_that_is_not_launched_says_that_no_worker_scans() -> None:
    run = make_run(now=database_now() - HOUR)
    assert "No scan has ever run" in text_of(chief().get(page_of(run)))


def test_a_run_that_is_not_launched_says_that_the_broker_is_down() -> None:
    mark("launch due runs", by="test", note="Broker unreachable (ConnectionError): due runs stay due.")
    run = make_run(now=database_now() - MINUTE)
    assert "Broker unreachable (ConnectionError)" in text_of(chief().get(page_of(run)))


def test_an_answer_is_text_not_markup() -> None:
    schedule = make_schedule(name="<b>bold</b>", now=NOW)
    html = chief().get(page_of(schedule), {"why_at": "2026-06-01T00:00"}).content.decode()
    assert "“&lt;b&gt;bold&lt;/b&gt;”" in html
    assert "<b>bold" not in html

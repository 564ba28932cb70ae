"""A backfill is asked for on the schedule's page, says how many runs it is before it opens them, and has a page."""

from datetime import date, timedelta
from typing import Any

import pytest
from django.contrib.admin.models import LogEntry
from django.http import HttpResponse
from django.test import Client

from project.kit.clock import database_now
from scheduler.models import Backfill, Schedule, TaskRun
from scheduler.states import FireKind, FireOutcome, RunState
from tests.panel import chief, listed, name_of, text_of, told
from tests.scheduler.admin.desk import action_on, confirm, list_of, page_of, person
from tests.scheduler.factories import make_run, make_schedule

pytestmark = pytest.mark.django_db

MAY = {"first_day": "2026-05-01", "last_day": "2026-05-03", "parallel": "2"}


def ask(client: Client, schedule: Schedule, **values: str) -> HttpResponse:
    """Send the form once, as somebody who has not seen the count."""
    return confirm(client, schedule, "backfill", **MAY | values)


def ask_twice(client: Client, schedule: Schedule, **values: str) -> HttpResponse:
    """Send the form, and once more what it then holds."""
    first = ask(client, schedule, **values)
    confirmed = first.context["form"].data["confirmed"]  # type: ignore[attr-defined]
    return ask(client, schedule, **values, confirmed=confirmed)


def test_before_anything_is_opened_it_says_how_many_runs_that_is() -> None:
    schedule = make_schedule()
    make_run(RunState.DONE, schedule=schedule, stat_date=date(2026, 5, 2))
    page = ask(chief(), schedule, reason="sent again")
    assert page.status_code == 200
    text = text_of(page)
    assert "This opens 2 runs, for 2026-05-01 to 2026-05-03, at most 2 at once. Send it once more" in text
    assert 'value="sent again"' in page.content.decode()
    assert not Backfill.objects.exists()


def test_sent_once_more_it_opens_them_and_shows_the_backfill() -> None:
    schedule, client = make_schedule(), chief()
    response = ask_twice(client, schedule, reason="sent again")
    backfill = Backfill.objects.get()
    assert response.headers["Location"] == page_of(backfill)
    assert told(response) == ["The backfill was opened with 3 runs."]
    assert (backfill.parallel, backfill.reason, backfill.created_by) == (2, "sent again", name_of(client))
    assert backfill.runs.count() == 3
    assert LogEntry.objects.get().get_change_message() == "Backfill: sent again"


def test_a_count_that_changed_meanwhile_is_shown_again() -> None:
    schedule, client = make_schedule(), chief()
    confirmed = ask(client, schedule).context["form"].data["confirmed"]  # type: ignore[attr-defined]
    make_run(RunState.DONE, schedule=schedule, stat_date=date(2026, 5, 3))
    page = ask(client, schedule, confirmed=confirmed)
    assert "This opens 2 runs" in text_of(page)
    assert not Backfill.objects.exists()


def test_days_that_are_done_are_asked_for_too_where_the_person_says_so() -> None:
    schedule, client = make_schedule(), chief()
    for day in (1, 2, 3):
        make_run(RunState.DONE, schedule=schedule, stat_date=date(2026, 5, day))
    assert "Every day of the range is done" in text_of(ask(client, schedule))
    assert "This opens 3 runs" in text_of(ask(client, schedule, again="on"))
    ask_twice(client, schedule, again="on")
    assert Backfill.objects.get().runs.count() == 3


@pytest.mark.parametrize(
    ("values", "field"),
    [
        ({"first_day": "2026-05-09"}, "last_day"),
        ({"last_day": "2999-01-01"}, "last_day"),
        ({"first_day": "someday"}, "first_day"),
        ({"parallel": "0"}, "parallel"),
        ({"parallel": "1001"}, "parallel"),
    ],
)
def test_what_is_wrong_stands_at_its_field(values: dict[str, str], field: str) -> None:
    page = ask(chief(), make_schedule(), **values)
    assert list(page.context["form"].errors) == [field]  # type: ignore[attr-defined]


def test_a_backfill_wants_its_own_permission() -> None:
    schedule = make_schedule()
    stranger, allowed = person("scheduler.run_schedule"), person("scheduler.backfill_schedule")
    assert stranger.get(action_on(schedule, "backfill")).status_code == 403
    assert ask(stranger, schedule).status_code == 403
    assert ask_twice(allowed, schedule).status_code == 302


def test_a_schedule_that_cannot_be_read_is_not_backfilled() -> None:
    schedule = make_schedule(due=database_now(), timezone="Mars/Olympus")
    response = chief().get(action_on(schedule, "backfill"))
    assert "cannot be backfilled: The time zone “Mars/Olympus” is not known" in told(response)[0]


def opened(client: Client) -> Backfill:
    """Return a backfill that was asked for in the panel."""
    ask_twice(client, make_schedule(name="Nightly settlement"), reason="sent again")
    return Backfill.objects.get()


def test_the_page_shows_who_asked_for_what_and_each_run() -> None:
    client = chief()
    backfill = opened(client)
    page = client.get(page_of(backfill))
    text, html = text_of(page), page.content.decode()
    for said in ("Nightly settlement", "2026-05-01 to 2026-05-03", "sent again", name_of(client), "3 pending"):
        assert said in text, said
    for run in backfill.runs.all():
        assert page_of(run) in html
    assert 'data-refresh="5"' in html
    assert page_of(backfill) in client.get(page_of(backfill.runs.earliest("id"))).content.decode()


def test_the_runs_of_a_backfill_do_not_hide_what_became_of_the_plan() -> None:
    client = chief()
    backfill = opened(client)
    at = database_now()
    backfill.schedule.fires.create(
        fire_at=at - timedelta(days=9),
        kind=FireKind.SCHEDULED,
        outcome=FireOutcome.SKIPPED_EXCLUDED,
        reason="It was a holiday.",
        recorded_at=at,
    )
    overview = client.get(page_of(backfill.schedule)).context["overview"]
    assert [line["reason"] for line in overview["fires"]] == ["It was a holiday."]


def test_the_lists_lead_to_a_backfill_and_to_its_runs() -> None:
    client = chief()
    backfill, other = opened(client), make_run()
    assert listed(client.get(list_of("backfill"))) == [backfill.pk]
    runs = listed(client.get(list_of("taskrun", f"?backfill={backfill.pk}")))
    assert len(runs) == 3
    assert other.pk not in runs


def test_what_is_left_is_cancelled_as_a_whole_by_who_may() -> None:
    client = chief()
    backfill = opened(client)
    done = backfill.runs.earliest("id")
    TaskRun.objects.filter(pk=done.pk).update(state=RunState.DONE, finished_at=database_now(), due_at=None)
    stranger = person("scheduler.cancel_taskrun", "scheduler.backfill_schedule")
    assert stranger.get(action_on(backfill, "cancel")).status_code == 403
    asked = text_of(client.get(action_on(backfill, "cancel")))
    assert "2 runs are cancelled; of these 0 are running" in asked
    assert told(confirm(client, backfill, "cancel", reason="wrong month")) == ["2 runs are cancelled, or asked to."]
    states = [run.state for run in backfill.runs.order_by("id")]
    assert states == [RunState.DONE, RunState.CANCELLED, RunState.CANCELLED]
    backfill.refresh_from_db()
    assert backfill.cancelled_by == name_of(client)
    page = client.get(page_of(backfill))
    assert action_on(backfill, "cancel") not in page.content.decode()
    assert "data-refresh" not in page.content.decode()


def test_a_backfill_of_which_nothing_is_left_is_not_cancelled() -> None:
    client = chief()
    backfill = opened(client)
    confirm(client, backfill, "cancel")
    assert told(confirm(client, backfill, "cancel"))[-1] == "Nothing of it is left: all its runs have ended."


def test_nobody_writes_a_backfill_by_a_form() -> None:
    client = chief()
    backfill = opened(client)
    assert client.post(page_of(backfill), {"parallel": 9}).status_code == 405
    assert client.get(list_of("backfill") + "add/").status_code == 403


def test_a_long_backfill_shows_its_first_runs_and_asks_as_often_as_a_short_one(
    django_assert_max_num_queries: Any,
) -> None:
    client, schedule = chief(), make_schedule()
    first = date(2026, 5, 31) - timedelta(days=119)
    ask_twice(client, schedule, first_day=first.isoformat(), last_day="2026-05-31")
    backfill = Backfill.objects.get()
    client.get(page_of(backfill))
    with django_assert_max_num_queries(12):
        page = client.get(page_of(backfill))
    assert len(page.context["runs"]) == 100

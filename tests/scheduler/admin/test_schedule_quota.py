"""The quota of a schedule: its fields in the form, and what the page says of it."""

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext

from project.kit.clock import database_now
from scheduler.models import Schedule
from tests.panel import chief, errors_of, text_of
from tests.quotas.factories import make_daily, make_quota, spend
from tests.scheduler.admin.desk import page_of
from tests.scheduler.admin.test_schedule_form import ADD, EMPTY, added, opened
from tests.scheduler.factories import make_run, make_schedule
from tests.scheduler.paused_runs import refused_run

pytestmark = pytest.mark.django_db


def test_a_schedule_is_given_a_quota_its_need_and_how_its_runs_go_on() -> None:
    quota = make_quota(100)
    terms = {"quota": str(quota.pk), "quota_need": "7", "resume_limit": "3", "resume_by_hand": "on"}
    schedule = added(chief(), **terms)
    assert (schedule.quota, schedule.quota_need) == (quota, 7)
    assert (schedule.resume_limit, schedule.resume_by_hand) == (3, True)


def test_the_form_names_quotas_by_their_keys() -> None:
    make_quota(100, key="fans-api", title="Fans")
    assert "fans-api – Fans" in text_of(chief().get(ADD))


@pytest.mark.parametrize(
    ("field", "values", "says"),
    [
        ("quota", {"quota_need": "5"}, "It says what it needs, but not of which quota."),
        ("quota_need", {"quota_need": "0"}, "greater than or equal to 1"),
        ("quota", {"quota": "999999999"}, "not one of the available choices"),
        ("resume_limit", {"resume_limit": "-1"}, "greater than or equal to 0"),
    ],
)
def test_what_is_wrong_stands_on_its_field(field: str, values: dict[str, str], says: str) -> None:
    errors = errors_of(chief().post(ADD, EMPTY | values))
    assert says in " ".join(errors[field])
    assert not Schedule.objects.exists()


def test_saving_the_form_as_it_was_opened_keeps_the_terms() -> None:
    schedule, client = make_schedule(quota=make_quota(100), quota_need=7, resume_by_hand=True), chief()
    assert client.post(page_of(schedule), opened(client, schedule)).status_code == 302
    assert Schedule.objects.get().version == 1
    changed = opened(client, schedule)
    del changed["resume_by_hand"]
    assert client.post(page_of(schedule), changed).status_code == 302
    assert not Schedule.objects.get().resume_by_hand


def test_the_page_says_how_the_quota_stands_and_which_runs_wait() -> None:
    now = database_now()
    quota = make_daily(100, now=now, key="fans", unit="calls", default_step=4)
    spend(quota, 100, now=now)
    schedule = make_schedule(now=now, quota=quota, resume_limit=2)
    for _ in range(2):
        refused_run((quota, 1), now=now, schedule=schedule)
    make_run(now=now, schedule=schedule)
    response = chief().get(page_of(schedule))
    text = text_of(response)
    for said in (
        "Quota fans insufficient",
        "Needs of it 4 calls (its usual need)",
        "Available 0 calls",
        "Runs paused by quotas 2 runs",
        "Paused runs go on 2 times at most",
    ):
        assert said in text, said
    assert f"?schedule={schedule.pk}&amp;show=quota" in response.content.decode()


def test_a_schedule_that_has_nothing_to_do_with_quotas_says_nothing_of_them() -> None:
    assert chief().get(page_of(make_schedule())).context["overview"]["quota_facts"] == []


def test_the_page_asks_as_often_for_many_paused_runs_as_for_one() -> None:
    now, client = database_now(), chief()
    quota = make_quota(100, now=now)
    spend(quota, 100, now=now)
    schedule = make_schedule(now=now, quota=quota, overlap="allow")

    def queries() -> int:
        client.get(page_of(schedule))
        with CaptureQueriesContext(connection) as captured:
            assert client.get(page_of(schedule)).status_code == 200
        return len(captured)

    refused_run((quota, 1), now=now, schedule=schedule)
    one = queries()
    for _ in range(5):
        refused_run((quota, 1), now=now, schedule=schedule)
    assert queries() == one

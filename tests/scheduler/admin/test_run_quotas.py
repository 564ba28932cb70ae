"""What people see and do about the quotas of a run: its page, the list, and the action that resumes it."""

import re
from datetime import datetime
from typing import Any

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext

from project.kit.clock import database_now
from quotas import charging
from quotas.models import Quota
from scheduler import operations, resuming
from scheduler.models import Pause, TaskRun
from scheduler.operations import Resumed
from scheduler.resuming import Resumption
from scheduler.states import EventTrigger, RunState
from scheduler.waits import owner_of
from tests.panel import chief, listed, text_of, told
from tests.quotas.factories import make_daily, make_quota, now_is, spend
from tests.scheduler.admin.desk import action_on, confirm, list_of, page_of, person
from tests.scheduler.factories import HOUR, MINUTE, events_of, make_run
from tests.scheduler.paused_runs import hold, refused_run

pytestmark = pytest.mark.django_db


@pytest.fixture
def now() -> datetime:
    """The database's present instant, by which pages speak."""
    return database_now()


def used_up(now: datetime, **fields: Any) -> Quota:
    """Return a quota of 100 of which nothing is left."""
    quota = make_quota(100, now=now, **{"key": "fans", "unit": "calls"} | fields)
    spend(quota, 100, now=now)
    return quota


def raise_limit(quota: Quota, now: datetime, limit: int = 300) -> None:
    """Raise the limit; inside a test's transaction no edge is taken."""
    charging.set_limit(quota.key, limit, now=now)


def resume_all(quota: Quota, now: datetime) -> None:
    """Let the runs go on as the quota's edge does."""
    assert resuming.resume(quota.pk, Resumption(EventTrigger.QUOTA_EDGE, "It is back."), now=now)


# --- the page --------------------------------------------------------------------------------------------------


def test_a_paused_run_shows_for_what_it_waits_with_a_link_to_the_quota(now: datetime) -> None:
    quota = make_daily(100, now=now, key="fans", unit="calls")
    spend(quota, 97, now=now)
    response = chief().get(page_of(refused_run((quota, 10), now=now)))
    text = text_of(response)
    assert "It needs 10 calls of “fans”, which has 3 left: our own budget is used up." in text
    assert re.search(r"fans 10 calls 3 calls (now|\d+ s ago) our own budget is used up", text)
    assert f"Expected back {now_is(quota).period_end:%Y-%m-%d %H:%M} in" in text
    assert "Its turn 1 of 1" in text
    assert "Resumed never" in text
    assert f'<a href="/admin/quotas/quota/{quota.pk}/change/">' in response.content.decode()


def test_what_is_lacking_in_a_quota_above_it_is_named_and_linked(now: datetime) -> None:
    parent = used_up(now, key="company")
    quota = make_quota(50, now=now, key="team", parent=parent)
    response = chief().get(page_of(refused_run((now_is(quota), 5), now=now)))
    assert re.search(r"team 5 0 calls in company (now|\d+ s ago)", text_of(response))


def test_a_resumed_run_shows_when_by_what_and_how_often(now: datetime) -> None:
    quota = used_up(now)
    run = refused_run((quota, 5), now=now)
    raise_limit(quota, now)
    resume_all(quota, now)
    text = text_of(chief().get(page_of(run)))
    for said in ("Paused 1 time", "Resumed 1 time", "Last resumed by quota edge", "To be begun by", "It is back."):
        assert said in text, said
    assert f"Last resumed {now:%Y-%m-%d %H:%M}" in text


def test_a_held_and_a_delayed_run_say_why(now: datetime) -> None:
    quota = used_up(now)
    held, delayed = refused_run((quota, 1), now=now), refused_run((quota, 1), now=now)
    hold(held, held=Pause.Held.AGREEMENT)
    hold(delayed, not_before=now + HOUR + MINUTE, setbacks=2)
    client = chief()
    text = text_of(client.get(page_of(held)))
    assert "Expected back held" in text
    assert "Its turn" not in text
    assert "Held a person has to agree each time" in text
    text = text_of(client.get(page_of(delayed)))
    assert "Setbacks in a row 2" in text
    assert "Not resumed before" in text


def test_the_runs_own_terms_are_shown_before_it_waits(now: datetime) -> None:
    run = make_run(now=now, due_at=now + HOUR, quota=used_up(now), quota_need=7, resume_limit=3)
    text = text_of(chief().get(page_of(run)))
    assert "Needs to begin 7 calls fans" in text
    assert "Goes on by itself 3 times at most" in text
    by_hand = make_run(now=now, resume_by_hand=True)
    assert "Goes on by itself only after a person agreed" in text_of(chief().get(page_of(by_hand)))


def test_what_a_run_was_charged_is_summed_for_each_quota_and_led_to(now: datetime) -> None:
    parent = make_quota(1000, now=now, key="company")
    quota = make_quota(500, now=now, key="team", unit="calls", parent=parent)
    run = make_run(RunState.RUNNING, now=now)
    owner = owner_of(run.pk)
    for number in range(3):
        spend(quota, 20, now=now, owner=owner, idempotency_key=f"{owner} {number}")
    charging.refund("team", f"{owner} 2", now=now)
    spend(quota, 99, now=now, owner=owner_of(run.pk + 1))
    client = chief()
    response = client.get(page_of(run))
    assert "team 3 60 calls 20 calls All its entries in the ledger" in text_of(response)
    ledger = client.get(response.context["quotas"]["ledger"])
    assert {entry.owner for entry in ledger.context["cl"].result_list} == {owner}
    assert len(listed(ledger)) == 8  # each charge and refund in both quotas
    assert owner in [
        choice["display"] for choice in ledger.context["cl"].filter_specs[-2].choices(ledger.context["cl"])
    ]


def test_a_run_that_has_nothing_to_do_with_quotas_says_nothing_of_them() -> None:
    assert chief().get(page_of(make_run())).context["quotas"] is None


def test_a_page_asks_as_often_among_many_that_wait_and_after_many_charges(now: datetime) -> None:
    quota, client = used_up(now), chief()
    run = refused_run((quota, 1), now=now)
    shadow = make_quota(1, now=now, shadow=True)

    def queries() -> int:
        spend(shadow, 1, now=now, owner=owner_of(run.pk))
        client.get(page_of(run))
        with CaptureQueriesContext(connection) as captured:
            assert client.get(page_of(run)).status_code == 200
        return len(captured)

    alone = queries()
    for _ in range(10):
        refused_run((quota, 1), now=now)
        spend(shadow, 1, now=now, owner=owner_of(run.pk))
    assert queries() == alone


def test_the_page_of_a_run_whose_quotas_zone_is_gone_still_shows(now: datetime) -> None:
    quota = make_daily(100, now=now)
    spend(quota, 100, now=now)
    run = refused_run((quota, 1), now=now)
    Quota.objects.filter(pk=quota.pk).update(timezone="Mars/Olympus")
    assert "It needs 1 of" in text_of(chief().get(page_of(run)))


# --- the list --------------------------------------------------------------------------------------------------


def test_the_list_finds_what_is_paused_what_is_held_and_what_waits_for_a_quota(now: datetime) -> None:
    parent = make_quota(1000, now=now)
    quota, other = used_up(now, parent=parent), used_up(now, key="other")
    run, held, elsewhere = (refused_run((which, 1), now=now) for which in (now_is(quota), now_is(quota), other))
    hold(held, held=Pause.Held.LIMIT)
    make_run(now=now)
    client = chief()

    def found(query: str) -> set[int]:
        return set(listed(client.get(list_of("taskrun", query))))

    assert found("?show=quota") == {run.pk, held.pk, elsewhere.pk}
    assert found("?show=held") == {held.pk}
    assert found(f"?waits_for={quota.pk}") == found(f"?waits_for={parent.pk}") == {run.pk, held.pk}
    assert found(f"?waits_for={other.pk}") == {elsewhere.pk}
    assert found("?waits_for=nonsense") == {*TaskRun.objects.values_list("pk", flat=True)}


# --- the action ------------------------------------------------------------------------------------------------


def test_resume_says_what_it_needs_and_what_it_lifts(now: datetime) -> None:
    run = refused_run((used_up(now), 5), now=now)
    hold(run, held=Pause.Held.SETBACKS, setbacks=5, not_before=now + HOUR)
    said = " ".join(map(str, chief().get(action_on(run, "resume")).context["consequences"]))
    assert "It needs 5 calls of “fans”, which has 0 left" in said
    assert "It is held: it paused again each time without getting anywhere. That is lifted." in said
    assert "It is delayed after 5 setbacks. That is lifted." in said


def test_a_run_that_fits_is_resumed_by_the_person(now: datetime) -> None:
    quota, client = used_up(now), chief()
    run = refused_run((quota, 5), now=now)
    hold(run, held=Pause.Held.AGREEMENT)
    raise_limit(quota, now)
    response = confirm(client, run, "resume", reason="The boss agreed.")
    assert told(response) == [f"Run #{run.pk} is resumed; a worker takes it from its checkpoint."]
    run.refresh_from_db()
    assert (run.state, run.reason) == (RunState.RESUMING, "The boss agreed.")
    assert events_of(run)[-1] == ("paused", "resuming", "manual")


def test_a_run_that_does_not_fit_waits_on_without_what_held_it(now: datetime) -> None:
    run, client = refused_run((used_up(now), 5), now=now), chief()
    hold(run, held=Pause.Held.AGREEMENT)
    (message,) = told(confirm(client, run, "resume"))
    assert "is neither held nor delayed any more. It waits for its quotas" in message
    assert (TaskRun.objects.get(pk=run.pk).state, Pause.objects.get(run=run).held) == (RunState.PAUSED, "")


def test_whoever_comes_second_is_told_that_it_has_gone_on(now: datetime) -> None:
    quota, client = used_up(now), chief()
    run = refused_run((quota, 5), now=now)
    seen = client.get(action_on(run, "resume")).context["seen"]
    raise_limit(quota, now)
    assert operations.resume(run, now=now, actor="somebody else") == Resumed.RESUMED
    response = client.post(action_on(run, "resume"), {"seen": seen, "reason": ""})
    assert told(response) == [f"Run #{run.pk} has gone on already; nothing is left to do."]
    assert len([event for event in events_of(run) if event[1] == RunState.RESUMING]) == 1


@pytest.mark.parametrize("action", ["resume", "cancel"])
def test_an_action_locks_the_quotas_before_the_run_as_whoever_resumes_does(now: datetime, action: str) -> None:
    run, client = refused_run((used_up(now), 5), now=now), chief()
    seen = client.get(action_on(run, action)).context["seen"]
    with CaptureQueriesContext(connection) as captured:
        client.post(action_on(run, action), {"seen": seen, "reason": ""})
    locks = [query["sql"] for query in captured if "FOR UPDATE" in query["sql"]]
    assert 'FROM "quotas_quota"' in locks[0]
    assert any('FROM "scheduler_taskrun"' in lock for lock in locks)


def test_several_are_resumed_at_once_and_who_has_gone_on_is_no_failure(now: datetime) -> None:
    quota, client = used_up(now), chief()
    runs = [refused_run((quota, 5), now=now) for _ in range(3)]
    chosen = {"action": "resume", "_selected_action": [run.pk for run in runs]}
    page = client.post(list_of("taskrun"), chosen)
    seen = {f"seen-{line['row'].pk}": line["seen"] for line in page.context["lines"]}
    raise_limit(quota, now)
    operations.resume(runs[0], now=now, actor="somebody else")
    response = client.post(page.context["post_to"], {**seen, "row": [run.pk for run in runs], "reason": ""})
    assert told(response) == ["Resume: done for 3."]
    assert set(TaskRun.objects.values_list("state", flat=True)) == {RunState.RESUMING}


def test_resuming_wants_its_permission(now: datetime) -> None:
    run = refused_run((used_up(now), 5), now=now)
    client = person("scheduler.cancel_taskrun")
    assert client.get(action_on(run, "resume")).status_code == 403
    assert action_on(run, "resume") not in client.get(page_of(run)).content.decode()
    assert action_on(run, "resume") in person("scheduler.resume_taskrun").get(page_of(run)).content.decode()


# --- cancelling ------------------------------------------------------------------------------------------------


def test_cancelling_a_paused_or_a_resuming_run_frees_what_it_holds_and_says_so(now: datetime) -> None:
    quota, client = used_up(now), chief()
    paused, resuming_run = (refused_run((quota, need), now=now) for need in (90, 5))
    raise_limit(quota, now, 150)
    assert operations.resume(resuming_run, now=now, actor="ada") == Resumed.RESUMED
    assert now_is(quota).reserved == 5
    for run, state in ((paused, "paused"), (resuming_run, "resuming")):
        said = client.get(action_on(run, "cancel")).context["consequences"]
        assert said[0] == f"It is {state} and not running, so it is cancelled at once."
        assert "What is held of quotas for it is free for others." in said
        assert told(confirm(client, run, "cancel"))[-1] == f"Run #{run.pk} is cancelled."
    assert now_is(quota).reserved == 0

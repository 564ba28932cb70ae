"""The page of a run: where it stands, why, and what happens next."""

from typing import Any

import pytest
from django.http import HttpResponse
from django.test import Client

from project.kit.clock import database_now
from project.scans import mark
from scheduler import operations
from scheduler.models import Attempt, TaskRun
from scheduler.states import FireKind, FireOutcome, RunState
from tests.panel import chief, text_of
from tests.scheduler.admin.desk import page_of, person
from tests.scheduler.factories import HOUR, MINUTE, NOW, SECOND, launched, make_question, make_run, make_schedule

pytestmark = pytest.mark.django_db


@pytest.fixture(autouse=True)
def scans_run() -> None:
    """The scans ran just now."""
    for scan in ("fire due schedules", "launch due runs", "rescue lost runs"):
        mark(scan, by="test")


def page(run: TaskRun) -> str:
    """Return the text of the run's page."""
    return text_of(chief().get(page_of(run)))


def make_attempt_of(run: TaskRun, **fields: Any) -> Attempt:
    """Insert an earlier attempt of the run."""
    instants = {"due_at": NOW, "started_at": NOW, "finished_at": NOW}
    return Attempt.objects.create(run=run, token=1, worker="w", pid=1, **instants, **fields)


def test_what_happens_next_is_said_for_every_state() -> None:
    now = database_now()
    later = now + 5 * HOUR + MINUTE
    sentences = {
        make_run(RunState.PENDING, now=now): "The next scan launches it.",
        make_run(RunState.PENDING, now=now, due_at=later): "It starts in 5 h",
        make_run(RunState.RUNNING, now=now, deadline_at=later): "If it has not ended before, it times out in 5 h",
        make_run(RunState.RUNNING, now=now, lease_expires_at=now - SECOND): "The next rescue scan frees it",
        make_run(
            RunState.RUNNING, now=now, cancel_requested_at=now, cancel_requested_by="ada"
        ): "ada asked to cancel it",
        make_run(
            RunState.FAILED, now=now, due_at=later, retry_delays=[60, 60]
        ): "It is tried again, retry 1 of 2, in 5 h .",
        make_run(RunState.FAILED, now=now, ended=True): "It has ended",
        make_run(RunState.DEFERRED, now=now, due_at=later): "It starts in 5 h",
        make_run(RunState.PAUSED, now=now): "when its quota is back",
        make_run(RunState.RESUMING, now=now): "The next scan launches it.",
        make_run(RunState.AWAITING_APPROVAL, now=now): "when a person has answered",
        make_run(RunState.SUSPENDED, now=now): "A person decides",
        make_run(RunState.DONE, now=now): "It has ended",
        make_run(RunState.CANCELLED, now=now): "It has ended",
    }
    assert {run.state for run in sentences} == set(RunState)
    for run, sentence in sentences.items():
        assert sentence in page(run), run.state


def test_a_launched_run_says_that_its_hint_is_on_the_way() -> None:
    now = database_now()
    run = make_run(now=now)
    launched(run, now=now)
    assert "a hint is on its way to a worker." in page(run)


def test_a_run_that_waits_for_its_predecessor_names_it() -> None:
    now, schedule = database_now(), make_schedule()
    first = make_run(RunState.RUNNING, now=now, schedule=schedule)
    second = make_run(now=now, schedule=schedule)
    assert f"waits for run #{first.pk}, which is running" in page(second)


def test_all_that_is_known_is_on_the_page_and_linked() -> None:
    now = database_now()
    schedule = make_schedule(name="Nightly settlement")
    fire = schedule.fires.create(fire_at=now, kind=FireKind.MISFIRE, outcome=FireOutcome.STARTED, recorded_at=now)
    old = make_run(RunState.CANCELLED, now=now)
    run = make_run(
        RunState.FAILED,
        now=now,
        ended=True,
        schedule=schedule,
        fire=fire,
        rerun_of=old,
        reason="The ledger is locked.",
        progress={"account": 4711},
        progress_done=3,
        progress_total=12,
        checkpoint_at=now,
        params={"limit": 99},
        result={"rows": 17},
        retry_delays=[60, 3600],
    )
    run.attempts.update(error="LedgerLocked", traceback="Traceback (most recent call last)", output="settling …")
    response = chief().get(page_of(run))
    text, html = text_of(response), response.content.decode()
    for said in (
        "The ledger is locked.",
        "25 %",
        '"account": 4711',
        '"limit": 99',
        '"rows": 17',
        "LedgerLocked",
        "Traceback (most recent call last)",
        "settling …",
        "1 min, 1 h",
        "made up",
    ):
        assert said in text, said
    for row in (schedule, fire, old):
        assert page_of(row) in html


def test_output_is_text_not_markup() -> None:
    run = make_run(RunState.RUNNING, reason="<b>why</b>")
    run.attempts.update(output="<script>alert(1)</script>")
    html = chief().get(page_of(run)).content.decode()
    assert "&lt;script&gt;alert(1)&lt;/script&gt;" in html
    assert "<script>alert(1)" not in html
    assert "<b>why" not in html


def test_the_page_refreshes_itself_until_the_run_has_ended() -> None:
    going, gone, client = make_run(RunState.RUNNING), make_run(RunState.DONE), chief()
    fragment = client.get(page_of(going), {"fragment": ""}).content.decode()
    assert fragment.strip().startswith("<article")
    assert 'data-refresh="2"' in fragment
    assert "data-refresh" not in client.get(page_of(gone), {"fragment": ""}).content.decode()


def test_each_attempt_is_folded_with_what_it_said_and_the_latest_is_open_where_people_look_at_it() -> None:
    run = make_run(RunState.RUNNING, attempt_count=2, lease_token=2)
    run.attempts.update(output="the second")
    first = make_attempt_of(run, number=1, outcome="failed", traceback="Traceback of the first")
    html = chief().get(page_of(run)).content.decode()
    later, earlier = html.index('data-keep="attempt-2" open'), html.index('data-keep="attempt-1">')
    assert later < html.index("the second") < earlier < html.index("Traceback of the first")
    assert page_of(first) in html


def test_of_a_long_output_the_page_has_the_end_and_says_so() -> None:
    run = make_run(RunState.RUNNING)
    run.attempts.update(output="begin" + "x" * 60_000 + "end")
    text = page(run)
    assert "xend" in text
    assert "beginx" not in text
    assert "This is the end of it." in text


def test_what_an_answer_says_is_not_said_twice() -> None:
    run = make_run(RunState.FAILED, ended=True, reason="The ledger is locked.")
    assert page(run).count("The ledger is locked.") == 1


def test_events_stand_in_the_order_in_which_they_happened() -> None:
    run, now = make_run(now=NOW), NOW + MINUTE
    operations.cancel(run, now=now, actor="ada", reason="not wanted")
    events = page(run).split("Events")[-1]
    assert events.index("pending → cancelled") < events.index("by hand · ada") < events.index("not wanted")


# --- the answer in place -------------------------------------------------------------------------------------------


def inline(client: Client, run: TaskRun, answer: str, reason: str) -> HttpResponse:
    """Answer the question of the run with what its page holds."""
    context = client.get(page_of(run)).context
    return client.post(context["answers"][answer]["url"], {"seen": context["seen"], "reason": reason})


def test_a_question_is_approved_on_the_page_itself() -> None:
    run, client = make_question(now=database_now()), chief()
    inline(client, run, "approve", "")
    assert TaskRun.objects.get(pk=run.pk).state == RunState.PENDING


def test_rejecting_on_the_page_itself_wants_a_reason_and_asks_for_it() -> None:
    run, client = make_question(now=database_now()), chief()
    assert "This field is required." in text_of(inline(client, run, "reject", ""))
    assert TaskRun.objects.get(pk=run.pk).state == RunState.AWAITING_APPROVAL
    inline(client, run, "reject", "the sum is wrong")
    assert TaskRun.objects.get(pk=run.pk).reason.endswith("the sum is wrong")


def test_who_may_not_answer_sees_the_question_and_no_buttons() -> None:
    run = make_question(now=database_now())
    html = person("scheduler.cancel_taskrun").get(page_of(run)).content.decode()
    assert "Send 214 invoices?" in html
    assert 'class="answering"' not in html


def test_an_answer_stands_once_on_the_page() -> None:
    run = make_question(now=database_now())
    assert chief().get(page_of(run)).content.decode().count("/do/approve/") == 1


def test_a_page_of_an_attempt_and_of_a_fire_shows_all_of_it() -> None:
    now = database_now()
    run = make_run(RunState.FAILED, now=now)
    attempt = run.attempts.get()
    attempt.output, attempt.error = "x" * 65_536, "It broke."
    attempt.save()
    assert "x" * 65_536 in chief().get(page_of(attempt)).content.decode()
    fire = make_schedule().fires.create(
        fire_at=now,
        kind=FireKind.MISFIRE,
        outcome=FireOutcome.SKIPPED_MISFIRE,
        reason="Nobody scanned.",
        missed_from=now - HOUR,
        missed_until=now - MINUTE,
        missed_count=4,
        recorded_at=now,
    )
    text = text_of(chief().get(page_of(fire)))
    assert "skipped: missed" in text
    assert "Nobody scanned." in text
    assert "Missed 4 (" in text

"""The page of a run: where it stands, why, and what happens next."""

import pytest

from project.kit.clock import database_now
from project.scans import mark
from scheduler.models import TaskRun
from scheduler.states import FireKind, FireOutcome, RunState
from tests.scheduler.admin.panel import chief, page_of, text_of
from tests.scheduler.factories import HOUR, MINUTE, SECOND, launched, make_run, make_schedule

pytestmark = pytest.mark.django_db


@pytest.fixture(autouse=True)
def scans_run() -> None:
    """The scans ran just now."""
    for scan in ("fire due schedules", "launch due runs", "rescue lost runs"):
        mark(scan, by="test")


def page(run: TaskRun) -> str:
    """Return the text of the run's page."""
    return text_of(chief().get(page_of(run)))


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
        "failed The ledger is locked.",
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

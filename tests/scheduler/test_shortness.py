"""Jobs whose runs share hints, because they say that they are short or because their latest runs show it."""

from datetime import timedelta

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext

from scheduler import launching
from scheduler.launching import MANY_RUNS, SHORT_RUNS_A_HINT, launch_due
from scheduler.models import Attempt
from scheduler.shortness import ENOUGH, LOOKED_AT, short_ones
from scheduler.states import RunState
from tests.scheduler.factories import NOW, SECOND, make_run, registered
from tests.scheduler.queue import Queue

pytestmark = pytest.mark.django_db

BRIEF, LONG = timedelta(milliseconds=20), 5 * SECOND


def ran(job: str, times: int, *, took: timedelta) -> None:
    """Let runs of the job have ended, each after one attempt that took so long."""
    for _ in range(times):
        run = make_run(RunState.DONE, job=job)
        Attempt.objects.filter(run=run).update(finished_at=NOW + took)


def test_a_job_whose_latest_runs_were_brief_is_short() -> None:
    ran("brief", ENOUGH, took=BRIEF)
    ran("long", ENOUGH, took=LONG)
    assert short_ones({"brief", "long"}) == {"brief"}


def test_too_few_runs_prove_nothing() -> None:
    ran("brief", ENOUGH - 1, took=BRIEF)
    assert short_ones({"brief"}) == frozenset()


@pytest.mark.parametrize(("long_ones", "is_short"), [(1, True), (2, False)])
def test_one_long_run_of_twenty_is_borne(long_ones: int, is_short: bool) -> None:
    ran("job", 20 - long_ones, took=BRIEF)
    ran("job", long_ones, took=LONG)
    assert ("job" in short_ones({"job"})) == is_short


def test_only_the_latest_runs_count() -> None:
    ran("job", ENOUGH, took=BRIEF)
    for _ in range(LOOKED_AT):
        make_run(RunState.DONE, job="other", now=NOW + SECOND)
    assert short_ones({"job"}) == frozenset()


def test_where_all_jobs_said_that_they_are_short_the_rows_are_not_asked() -> None:
    with registered(lambda run: None, short=True) as key, CaptureQueriesContext(connection) as queries:
        assert short_ones({key}) == {key}
    assert len(queries) == 0


def test_many_runs_of_a_job_that_proved_short_share_hints(queue: Queue) -> None:
    ran("brief", ENOUGH, took=BRIEF)
    for _ in range(MANY_RUNS):
        make_run(job="brief")
    launched = launch_due(now=NOW)
    assert (launched.runs, launched.hints) == (MANY_RUNS, MANY_RUNS / SHORT_RUNS_A_HINT)


def test_few_runs_of_a_job_that_proved_short_are_spread_over_the_workers(
    queue: Queue, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(launching, "MANY_RUNS", 4)
    ran("brief", ENOUGH, took=BRIEF)
    for _ in range(3):
        make_run(job="brief")
    assert launch_due(now=NOW).hints == 3

"""Everything is killed, frozen, cut and emptied at random moments; afterwards the books are audited.

TIDELINE_CAMPAIGN_SECONDS and TIDELINE_CAMPAIGN_SEED make it longer and different.
"""

import os

import pytest
from django.db import connection

from project.kit.clock import database_now
from project.services import PostgreSQL
from quotas import defining
from quotas.models import Quota
from quotas.states import Kind
from scheduler import schedules
from scheduler.models import RunEvent, Schedule, TaskRun
from scheduler.states import RunState
from tests.audit import audit_quotas
from tests.faults.books import audit_fires, audit_marks, audit_runs
from tests.faults.house import House
from tests.faults.nemesis import Nemesis

SECONDS = float(os.environ.get("TIDELINE_CAMPAIGN_SECONDS", "50"))
SEED = int(os.environ.get("TIDELINE_CAMPAIGN_SEED", "1"))
HEALING_SECONDS = 90.0
SPENT_A_RUN = 6


@pytest.mark.slow
@pytest.mark.timeout(SECONDS + 4 * HEALING_SECONDS)
def test_after_a_campaign_of_random_faults_the_books_are_right(own_postgresql: PostgreSQL, house: House) -> None:
    house.environ["TIDELINE_JOBS"] = "tests.flow.spending_jobs"
    house.supervise("worker", "beat", "beat", "runner", "runner")
    overlaps = [Schedule.Overlap.ALLOW, Schedule.Overlap.QUEUE, Schedule.Overlap.SKIP]
    working = [house.every(2, "test.items", items=6, seconds=0.1, overlap=overlap) for overlap in overlaps]
    failing = house.every(3, "test.raises", retry_delays=[1], overlap=Schedule.Overlap.QUEUE)
    quota = make_scarce_quota("scarce")
    spending = house.every(2, "test.spends", items=SPENT_A_RUN, of="scarce", quota=quota, overlap=Schedule.Overlap.SKIP)
    first_due = {schedule: schedule.next_run_at for schedule in (*working, failing, spending)}
    nemesis = Nemesis(house, own_postgresql, SEED)

    nemesis.rage(SECONDS)
    print(f"seed {SEED}:", *nemesis.story, sep="\n")  # shown if what follows fails
    connection.close()
    for schedule in first_due:
        schedules.pause(schedule, now=database_now(), reason="the campaign is over")
    house.wait_until(everything_has_ended, HEALING_SECONDS, "all runs to end")

    for schedule, instant in first_due.items():
        audit_fires(schedule, instant)
    audit_runs()
    audit_quotas()
    for run in TaskRun.objects.filter(schedule__in=[*working, spending]):
        assert run.state == RunState.DONE, (run, run.reason)
        audit_marks(run, house.marks(run))
    for run in TaskRun.objects.filter(schedule=failing):
        assert run.state == RunState.FAILED
        assert house.outcomes(run).count("failed") == 2
    spent = SPENT_A_RUN * TaskRun.objects.filter(schedule=spending).count()
    assert Quota.objects.get(pk=quota.pk).spent_total == spent, "a unit for each item, once"
    assert RunEvent.objects.filter(run__schedule=spending, to_state=RunState.RESUMING).exists(), "it was not scarce"


def make_scarce_quota(key: str) -> Quota:
    """Create a rate that gives less than what is wanted of it, so that runs pause and go on all the time."""
    rate = {"refill_amount": 1, "refill_seconds": 1, "stable_seconds": 1}
    return defining.create(key=key, kind=Kind.RATE, limit=SPENT_A_RUN, now=database_now(), **rate)


def everything_has_ended() -> bool:
    """Return whether no run is unfinished."""
    return not TaskRun.objects.filter(finished_at__isnull=True).exists()

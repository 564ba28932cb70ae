"""A quota runs out under real processes: the runs pause with their checkpoint, and go on by themselves, each item done
once, when the clock or a person gives the quota back, whoever is killed meanwhile.
"""

from pathlib import Path
from typing import Any

import pytest
from pytest_django import Settings

from project.kit.clock import database_now
from project.services import Redis
from quotas import charging, defining
from quotas.models import Edge, Quota
from quotas.states import Cause, Kind
from scheduler import operations, schedules
from scheduler.models import Pause, QuotaWait, RunEvent, TaskRun
from scheduler.states import AttemptOutcome, EventTrigger, RunState
from tests.audit import audit_quotas
from tests.faults.books import ITEMS, audit_marks, audit_runs
from tests.faults.house import House
from tests.processes import Processes
from tests.scheduler.factories import HOUR

pytestmark = [pytest.mark.slow, pytest.mark.timeout(240)]


@pytest.fixture
def house(processes: Processes, redis_server: Redis, tmp_path: Path) -> House:
    made = House(processes, redis_server, tmp_path)
    made.environ |= {"TIDELINE_JOBS": "tests.flow.spending_jobs"}
    return made


def test_a_run_that_used_up_its_credit_goes_on_where_it_was_after_a_top_up(house: House) -> None:
    quota = make_quota("credit", limit=4)
    house.scanners()
    house.runner()
    run = house.open("test.spends", of="credit")
    house.wait_for(RunState.PAUSED, run)
    assert (run.progress, house.items(run)) == ({"item": 4}, [1, 2, 3, 4])

    house.processes.run("top-up", "python manage.py quota top-up credit 6", **house.environ)
    house.wait_for(RunState.DONE, run)

    assert house.items(run) == list(range(1, ITEMS + 1))
    assert states_of(run) == ["pending", "running", "paused", "resuming", "running", "done"]
    assert house.outcomes(run) == [AttemptOutcome.PAUSED, AttemptOutcome.DONE]
    assert_all_is_right(house, run, quota)


def test_the_runs_of_a_schedule_wait_for_the_reset_of_their_budget_and_go_on_by_themselves(house: House) -> None:
    """Each wants 10 of 16: the second pauses amid its work, and who comes later is not even launched. The reset is half
    a day away, until the rule is changed.
    """
    house.environ |= {"TIDELINE_RUNNERS": "1"}
    at = (database_now() + 12 * HOUR).time().replace(second=0, microsecond=0)
    quota = make_quota("daily", limit=16, kind=Kind.PERIODIC, reset_preset="day", reset_time=at)
    house.scanners()
    house.runner()
    schedule = house.every(2, "test.spends", of="daily", quota=quota, overlap="allow")
    runs = TaskRun.objects.filter(schedule=schedule).order_by("pk")
    house.wait_until(lambda: runs.count() >= 2, what="two runs")
    schedules.pause(schedule, now=database_now(), reason="two are enough")
    house.wait_until(lambda: runs.filter(state=RunState.PAUSED).count() == runs.count() - 1, what="but one to wait")
    late = operations.run_now(schedule, now=database_now(), actor="ada")
    house.wait_for(RunState.PAUSED, late)
    assert [run.attempt_count for run in (runs[0], runs[1], late)] == [1, 1, 0]
    assert all(wait.expected_at == quota.period_end for wait in QuotaWait.objects.filter(run__in=runs))

    reset_each_minute(quota)
    house.wait_for(RunState.DONE, *runs, seconds=200)

    for run in runs:
        audit_marks(run, house.marks(run))
    causes = Edge.objects.filter(quota=quota).values_list("cause", flat=True)
    assert set(causes) == {Cause.RESET}
    quota.refresh_from_db()
    assert quota.spent_total == ITEMS * runs.count()
    audit_runs()
    audit_quotas()


def test_a_worker_killed_at_work_after_a_resume_costs_no_item_and_no_unit(house: House) -> None:
    quota = make_quota("credit", limit=4)
    house.scanners()
    runner = house.runner()
    run = house.open("test.spends", of="credit", hold_at=6, hold_in_attempt=2)
    house.wait_for(RunState.PAUSED, run)
    charging.top_up("credit", 6, now=database_now())
    house.wait_until_holds(run)

    runner.kill9()
    house.runner()
    house.wait_for(RunState.DONE, run)

    assert house.outcomes(run) == [AttemptOutcome.PAUSED, AttemptOutcome.LOST, AttemptOutcome.DONE]
    assert_all_is_right(house, run, quota)


def test_a_worker_killed_before_it_began_what_was_resumed_leaves_it_to_another(house: House) -> None:
    quota = make_quota("credit", limit=4)
    house.scanners()
    runner = house.runner()
    run = house.open("test.spends", of="credit")
    house.wait_for(RunState.PAUSED, run)
    runner.freeze()
    charging.top_up("credit", 6, now=database_now())
    house.wait_for(RunState.RESUMING, run)

    runner.kill9()
    house.runner()
    house.wait_for(RunState.DONE, run, seconds=60)

    assert house.outcomes(run) == [AttemptOutcome.PAUSED, AttemptOutcome.DONE]
    assert_all_is_right(house, run, quota)


def test_what_nobody_begins_in_time_is_paused_again_and_goes_on_later(house: House, settings: Settings) -> None:
    quota = make_quota("credit", limit=4)
    settings.TIDELINE_RESUME_DEADLINE_SECONDS = 2  # whoever tops up resumes, right after his commit
    house.environ |= {"TIDELINE_RESUME_DEADLINE_SECONDS": "2"}
    house.scanners()
    runner = house.runner()
    run = house.open("test.spends", of="credit")
    house.wait_for(RunState.PAUSED, run)
    runner.kill9()
    charging.top_up("credit", 6, now=database_now())
    house.wait_until(lambda: Pause.objects.get(run=run).setbacks == 1, what="the resumed run to be paused again")

    house.runner()
    house.wait_for(RunState.DONE, run, seconds=90)

    triggers = (
        RunEvent.objects.filter(run=run, to_state=RunState.PAUSED).order_by("id").values_list("trigger", flat=True)
    )
    assert list(triggers)[:2] == [EventTrigger.QUOTA, EventTrigger.TIMEOUT]
    assert_all_is_right(house, run, quota)


def make_quota(key: str, **fields: Any) -> Quota:
    """Create a quota, a capacity unless the fields say otherwise."""
    usual: dict[str, Any] = {"kind": Kind.CAPACITY, "spread_seconds": 0}
    return defining.create(key=key, now=database_now(), **usual | fields)


def reset_each_minute(quota: Quota) -> None:
    """Change the rule of the quota, as a person does."""
    quota.refresh_from_db()
    quota.reset_preset, quota.reset_cron = "cron", "* * * * *"
    defining.save_changes(quota, expected_version=quota.version, now=database_now(), actor="ada")


def states_of(run: TaskRun) -> list[str]:
    """Return the states that the run came through."""
    return list(RunEvent.objects.filter(run=run).order_by("id").values_list("to_state", flat=True))


def assert_all_is_right(house: House, run: TaskRun, quota: Quota) -> None:
    """Assert that the run did each item once and was charged for each once, and that all books are right."""
    audit_marks(run, house.marks(run))
    quota.refresh_from_db()
    assert (quota.used, quota.reserved, quota.spent_total) == (ITEMS, 0, ITEMS)
    audit_runs()
    audit_quotas()

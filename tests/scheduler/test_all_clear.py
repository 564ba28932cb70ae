"""What is well again, by the rows, is resolved; what is not stays open."""

from datetime import datetime

import pytest

from alerts.models import Alert
from quotas import charging, defining
from quotas.states import Kind as QuotaKind
from scheduler import attention
from scheduler.all_clear import resolve_what_is_well
from scheduler.attention import Kind
from scheduler.models import Fire, Schedule, TaskRun
from scheduler.states import FireKind, FireOutcome, RunState
from tests.scheduler.factories import HOUR, MINUTE, NOW, make_run, make_schedule

pytestmark = pytest.mark.django_db
LATER = NOW + MINUTE


def tell(kind: Kind, run: TaskRun) -> None:
    attention.tell_of_runs(kind, [run.pk], "Something is wrong.", NOW)


def open_kinds(now: datetime = LATER) -> list[str]:
    resolve_what_is_well(now=now)
    return sorted(Alert.objects.filter(resolved_at__isnull=True).values_list("kind", flat=True))


def test_a_schedule_that_failed_is_well_when_a_later_run_of_it_is_done() -> None:
    schedule = make_schedule()
    make_run(RunState.DONE, schedule=schedule, now=NOW - HOUR)
    tell(Kind.RUN_FAILED, make_run(RunState.FAILED, schedule=schedule, ended=True))
    assert open_kinds() == ["run_failed"]
    make_run(RunState.DONE, schedule=schedule, now=LATER)
    assert open_kinds() == []


def test_a_second_failure_of_the_schedule_is_the_same_problem() -> None:
    schedule = make_schedule()
    for _ in range(2):
        tell(Kind.RUN_FAILED, make_run(RunState.FAILED, schedule=schedule, ended=True))
    assert [alert.count for alert in Alert.objects.all()] == [2]


def test_a_run_without_a_schedule_is_well_when_it_was_run_again_and_done() -> None:
    failed = make_run(RunState.FAILED, ended=True)
    tell(Kind.RUN_FAILED, failed)
    again = make_run(RunState.RUNNING, rerun_of=failed)
    assert open_kinds() == ["run_failed"]
    TaskRun.objects.filter(pk=again.pk).update(state=RunState.DONE, finished_at=LATER, lease_expires_at=None)
    assert open_kinds() == []


@pytest.mark.parametrize(
    ("kind", "state"),
    [
        (Kind.RUN_SUSPENDED, RunState.SUSPENDED),
        (Kind.RUN_ASKS, RunState.AWAITING_APPROVAL),
        (Kind.RUN_NOT_RESUMED, RunState.PAUSED),
    ],
)
def test_what_waits_for_a_person_is_well_when_it_does_not_wait_any_more(kind: Kind, state: RunState) -> None:
    run = make_run(state)
    tell(kind, run)
    assert open_kinds() == [kind]
    TaskRun.objects.filter(pk=run.pk).update(state=RunState.PENDING, due_at=NOW)
    assert open_kinds() == []


def test_a_second_question_of_a_run_is_a_problem_of_its_own() -> None:
    run = make_run(RunState.AWAITING_APPROVAL)
    tell(Kind.RUN_ASKS, run)
    TaskRun.objects.filter(pk=run.pk).update(attempt_count=2)
    tell(Kind.RUN_ASKS, run)
    assert open_kinds() == ["run_asks"]
    assert Alert.objects.get(resolved_at__isnull=True).fingerprint == f"run_asks:run:{run.pk}:2"


def test_a_broken_schedule_is_well_when_it_can_be_read() -> None:
    schedule = make_schedule()
    Schedule.objects.filter(pk=schedule.pk).update(broken_reason="Bad.", next_run_at=None)
    attention.tell_of_fires([_fire(schedule, FireOutcome.FAILED_TO_START, NOW)])
    assert open_kinds() == ["schedule_broken"]
    Schedule.objects.filter(pk=schedule.pk).update(broken_reason="", next_run_at=LATER)
    assert open_kinds() == []


def test_a_schedule_that_missed_is_well_when_it_fires() -> None:
    schedule = make_schedule()
    attention.tell_of_fires([_fire(schedule, FireOutcome.SKIPPED_MISFIRE, NOW)])
    assert open_kinds() == ["schedule_missed"]
    _fire(schedule, FireOutcome.STARTED, LATER)
    assert open_kinds() == []


def test_a_quota_is_told_at_each_percentage_and_is_well_when_it_is_back() -> None:
    defining.create(key="api", kind=QuotaKind.CAPACITY, limit=100, now=NOW)
    for amount in (80, 15, 5):
        charging.charge("api", amount, now=NOW)
    assert open_kinds() == ["quota_exhausted", "quota_warning", "quota_warning"]
    charging.top_up("api", 10, now=LATER)
    assert open_kinds() == ["quota_exhausted", "quota_warning"]
    charging.top_up("api", 500, now=LATER)
    assert open_kinds() == []


def test_with_nothing_open_it_asks_one_question(django_assert_num_queries: pytest.FixtureRequest) -> None:
    with django_assert_num_queries(1):  # type: ignore[operator]
        assert resolve_what_is_well(now=LATER) == 0


def _fire(schedule: Schedule, outcome: FireOutcome, at: datetime) -> Fire:
    return Fire.objects.create(
        schedule=schedule, fire_at=at, kind=FireKind.SCHEDULED, outcome=outcome, reason="Because.", recorded_at=at
    )

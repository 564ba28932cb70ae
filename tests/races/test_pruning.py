"""History that is pruned by two at once, and while work goes on that needs it."""

import pytest
from django.db import IntegrityError, transaction

from alerts.recording import raise_alert
from project.kit.pruning import prune
from scheduler import operations, pruning, sealing
from scheduler.firing import fire_due
from scheduler.models import Attempt, RunEvent, TaskRun
from scheduler.states import RunState
from scheduler.waits import owner_of
from tests.alerts.factories import problem
from tests.races.helpers import Background, all_at_once, run_after, run_before, winner_holding
from tests.races.test_firing import Killed, die
from tests.scheduler.factories import DAY, NOW, fires_of, make_run, make_schedule, planned
from tests.scheduler.test_pruning import make_fire

pytestmark = pytest.mark.django_db(transaction=True)

RUNS, FIRES, *_ = pruning.KINDS
OLD, LIMIT = NOW - 100 * DAY, NOW - 90 * DAY


def make_ended(count: int = 1, state: RunState = RunState.DONE) -> list[TaskRun]:
    """Insert old runs that ended and were sealed."""
    runs = [make_run(state, now=OLD, ended=True) for _ in range(count)]
    sealing.seal_ended()
    return runs


def prune_runs() -> int:
    """Prune the runs in small batches; return how many went."""
    return sum(prune(RUNS, before=LIMIT, batch=7))


def test_two_who_prune_at_once_wait_for_nobody_and_all_goes_once() -> None:
    make_ended(100)
    assert sum(all_at_once(prune_runs, prune_runs, prune_runs)) + prune_runs() == 100
    assert [rows.objects.count() for rows in (TaskRun, Attempt, RunEvent)] == [0, 0, 0]


def test_a_run_that_somebody_holds_is_left_for_the_next_time() -> None:
    held, _ = make_ended(2)
    with winner_holding(held):
        assert prune_runs() == 1
    assert prune_runs() == 1


def run_again(run: TaskRun) -> TaskRun:
    """Run it again, as a person does."""
    return operations.run_again(run, now=NOW, actor="ada", from_progress=False)


def test_a_run_that_is_run_again_just_before_it_is_locked_stays() -> None:
    [run] = make_ended()
    with run_before("project.kit.pruning._lock", lambda: run_again(run)):
        assert prune_runs() == 0


def test_whoever_runs_a_run_again_that_is_going_is_refused_and_leaves_nothing() -> None:
    [run] = make_ended()
    with transaction.atomic():
        assert prune_runs() == 1
        late = Background(lambda: run_again(run))
        late.wait_until_it_waits()
    with pytest.raises(IntegrityError):
        late.result()
    assert TaskRun.objects.count() == 0


def test_a_run_of_which_an_alert_tells_as_it_is_locked_stays() -> None:
    [run] = make_ended(state=RunState.FAILED)
    about_it = problem(subject=owner_of(run.pk))
    with run_after("project.kit.pruning._lock", lambda: raise_alert(about_it, now=NOW)):
        assert prune_runs() == 0


@pytest.mark.parametrize("step", ["_lock", "_delete"])
def test_a_prune_that_dies_amid_a_batch_leaves_all_of_it(step: str) -> None:
    make_ended(3)
    with pytest.raises(Killed), run_after(f"project.kit.pruning.{step}", die, elsewhere=False):
        prune_runs()
    assert [rows.objects.count() for rows in (TaskRun, Attempt, RunEvent)] == [3, 3, 3]
    assert prune_runs() == 3


def test_what_fires_meanwhile_stays_with_its_run() -> None:
    due = OLD.replace(hour=2)
    schedule = make_schedule(due=due)
    for fire_at in (due - 2 * DAY, due - DAY):
        make_fire(schedule, fire_at)
    with run_before("project.kit.pruning._lock", lambda: fire_due(now=due)):
        assert sum(prune(FIRES, before=LIMIT)) == 2
    assert [fire_at for fire_at, _, _ in fires_of(schedule)] == planned(schedule) == [due]

"""A hint may come again at any time: Redis redelivers what was not acknowledged."""

from datetime import timedelta

import pytest

from project.kit.clock import database_now
from scheduler import operations, running
from scheduler.models import TaskRun
from scheduler.running import Outcome
from scheduler.states import AttemptOutcome, RunState
from scheduler.transitions import Claim, Worker

pytestmark = pytest.mark.django_db
WORKER = Worker("a worker", 1)


def launched(**fields: object) -> Claim:
    """Open a run of a job and launch it by hand."""
    now = database_now()
    run = operations.run_job("test.job", {}, now=now, actor="test")
    TaskRun.objects.filter(pk=run.pk).update(lease_token=1, lease_expires_at=now + timedelta(seconds=15), **fields)
    return Claim(run.pk, 1)


@pytest.mark.parametrize(
    ("state", "outcome", "due_in"),
    [
        (RunState.FAILED, AttemptOutcome.FAILED, None),
        (RunState.DEFERRED, AttemptOutcome.DEFERRED, timedelta(hours=1)),
        (RunState.PENDING, AttemptOutcome.HANDED_BACK, timedelta(0)),
    ],
)
def test_a_hint_that_comes_again_after_its_attempt_ended_starts_nothing_early(
    state: RunState, outcome: AttemptOutcome, due_in: timedelta | None
) -> None:
    claim = launched(retry_delays=[3600])
    now = database_now()
    run = running.begin(claim, WORKER, now=now)
    assert run is not None
    due_at = now + due_in if due_in is not None else None
    assert running.settle(run, Outcome(state, outcome, due_at=due_at), now=now)

    assert running.begin(claim, WORKER, now=now) is None

    after = TaskRun.objects.get(pk=run.pk)
    assert (after.state, after.attempt_count) == (state, 1)

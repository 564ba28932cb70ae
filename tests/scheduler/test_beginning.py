"""A launched run is begun once, by whoever holds its token; with the end of the one before, where that is its own."""

import pytest

from scheduler import rescuing, transitions
from scheduler.models import Attempt, TaskRun
from scheduler.states import TRANSITIONS, AttemptOutcome, EventTrigger, RunState
from scheduler.transitions import AttemptEnd, Claim
from tests.scheduler.factories import HOUR, MINUTE, NOW, WORKER, claim_of, events_of, launched, make_run

pytestmark = pytest.mark.django_db

LATER = NOW + HOUR


def begin(claim: Claim) -> bool:
    """Begin the claimed run at LATER, for a minute."""
    return transitions.begin(claim, WORKER, now=LATER, lease_until=LATER + MINUTE) is not None


@pytest.mark.parametrize("state", RunState)
def test_begin_takes_a_launched_run_in_exactly_the_states_that_allow_it(state: RunState) -> None:
    run = make_run(state)
    claim = launched(run) if run.due_at else claim_of(run)
    assert begin(claim) == (RunState.RUNNING in TRANSITIONS[state])


def test_begin_opens_the_next_attempt_and_takes_the_lease() -> None:
    run = make_run(RunState.FAILED, lease_token=6)
    assert begin(launched(run))
    after = TaskRun.objects.get(pk=run.pk)
    assert (after.state, after.due_at, after.attempt_count) == (RunState.RUNNING, None, 2)
    assert (after.lease_owner, after.lease_pid) == (WORKER.name, WORKER.pid)
    assert after.lease_expires_at == LATER + MINUTE
    attempt = Attempt.objects.get(run=run, number=2)
    assert (attempt.token, attempt.worker, attempt.pid) == (7, WORKER.name, WORKER.pid)
    assert (attempt.due_at, attempt.started_at, attempt.finished_at, attempt.outcome) == (NOW, LATER, None, "")
    assert events_of(run)[-1] == ("failed", "running", "worker")


def test_the_first_start_stays_the_start() -> None:
    fresh, again = make_run(), make_run(RunState.FAILED)
    assert begin(launched(fresh))
    assert begin(launched(again))
    assert TaskRun.objects.get(pk=fresh.pk).started_at == LATER
    assert TaskRun.objects.get(pk=again.pk).started_at == NOW


def test_a_resumed_run_that_has_begun_has_no_deadline_for_that_any_more() -> None:
    run = make_run(RunState.RESUMING, deadline_at=LATER)
    assert begin(launched(run))
    assert TaskRun.objects.get(pk=run.pk).deadline_at is None


def test_a_doubled_hint_finds_no_row() -> None:
    """B34, B35: the body runs once, the broker's copies are no-ops."""
    run = make_run()
    claim = launched(run)
    assert begin(claim)
    assert not begin(claim)
    assert Attempt.objects.filter(run=run).count() == 1


def test_a_hint_with_an_old_token_finds_no_row() -> None:
    run = make_run()
    old, new = launched(run), launched(run)
    assert not begin(old)
    assert begin(new)


def test_a_run_that_was_never_launched_is_not_begun() -> None:
    run = make_run()
    assert not begin(Claim(run.pk, run.lease_token))


def test_a_run_that_was_cancelled_meanwhile_is_not_begun() -> None:
    run = make_run()
    claim = launched(run)
    transitions.move([Claim(run.pk)], RunState.CANCELLED, now=LATER, trigger=EventTrigger.MANUAL)
    assert not begin(claim)


def test_a_run_that_is_gone_is_not_begun() -> None:
    assert not begin(Claim(0, 1))


# --- the end of one and the beginning of the next -----------------------------------------------------------------


def test_a_run_that_waits_again_is_not_ended_by_who_had_it_though_its_token_is_the_same() -> None:
    lost, following = make_run(RunState.RUNNING), make_run()
    claim = claim_of(lost)
    assert rescuing.free([lost], now=LATER) == 1
    end = AttemptEnd(AttemptOutcome.DONE)
    ended, begun = transitions.finish_and_begin(
        claim, end, None, launched(following), WORKER, now=LATER, lease_until=LATER + MINUTE
    )
    assert not ended
    assert begun is not None
    assert TaskRun.objects.get(pk=lost.pk).state == RunState.PENDING

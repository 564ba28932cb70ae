"""A job spends under its run's name: charged once where it says so, paused where it is refused, held while it works."""

from collections.abc import Callable
from typing import Any

import pytest
from django.db import OperationalError

from project.kit import outages
from project.kit.clock import database_now
from quotas import charging
from quotas.models import LedgerEntry, Quota, Reservation
from quotas.refusals import BadAmount, Conflict, NeverSatisfiable, PauseNeeded, UnknownQuota
from quotas.states import EntryKind, ReservationState
from scheduler.jobs import RunContext
from scheduler.models import TaskRun
from scheduler.states import RunState
from tests.quotas.factories import audit, charged_to, make_daily
from tests.quotas.factories import now_is as quota_now
from tests.scheduler.factories import SECOND
from tests.scheduler.pauses import Floor, floor, now_is

pytestmark = pytest.mark.django_db

Body = Callable[[RunContext], Any]


@pytest.fixture
def quota() -> Quota:
    """A quota of 100 a day."""
    return make_daily(100, now=database_now())


def executed(body: Body, attempts: int = 1) -> TaskRun:
    """Execute the job, again after each failure, and return its run."""
    with floor(body) as worker:
        run = worker.open(retry_delays=[0] * attempts)
        for _ in range(attempts):
            run = again(worker, run)
    return run


def again(worker: Floor, run: TaskRun) -> TaskRun:
    """Execute the run, whatever it waits for."""
    TaskRun.objects.filter(pk=run.pk).update(state=RunState.PENDING, due_at=database_now() - SECOND)
    return worker.execute(now_is(run))


def states_of_reservations() -> list[str]:
    return list(Reservation.objects.order_by("id").values_list("state", flat=True))


# --- charge ----------------------------------------------------------------------------------------------------------


def test_a_charge_belongs_to_the_run_and_its_attempt(quota: Quota) -> None:
    run = executed(lambda run: run.charge(quota.key, 7))
    entry = LedgerEntry.objects.get(quota=quota, kind=EntryKind.CHARGE)
    assert (entry.owner, entry.attempt, entry.units) == (f"run:{run.pk}", 1, 7)


def test_each_call_is_charged_as_each_try_costs(quota: Quota) -> None:
    executed(lambda run: [run.charge(quota.key, 2) for _ in range(3)])
    assert charged_to(quota) == 6


def test_a_named_piece_of_work_is_charged_once_in_whichever_attempt(quota: Quota) -> None:
    def body(run: RunContext) -> None:
        run.charge(quota.key, 10, idempotency_key="page 1")
        raise ValueError

    executed(body, attempts=3)
    assert charged_to(quota) == 10


def test_two_runs_with_the_same_name_for_their_work_are_charged_each(quota: Quota) -> None:
    for _ in range(2):
        executed(lambda run: run.charge(quota.key, 10, idempotency_key="page 1"))
    assert charged_to(quota) == 20


def test_what_was_given_back_is_charged_anew_by_the_attempt_that_does_it(quota: Quota) -> None:
    """No phantom cost, and no free work either."""

    def body(run: RunContext) -> None:
        run.charge(quota.key, 10, idempotency_key="page 1", refund_on_failure=True)
        if run.attempt < 3:
            raise ValueError

    assert executed(body, attempts=3).state == RunState.DONE
    assert (charged_to(quota), quota_now(quota).used) == (30, 10)
    audit()


def test_what_was_used_in_an_earlier_attempt_is_not_charged_again(quota: Quota) -> None:
    def body(run: RunContext) -> None:
        run.charge(quota.key, 10, idempotency_key="page 1", refund_on_failure=True)
        if run.attempt == 1:
            raise ValueError
        run.checkpoint(page=1)
        if run.attempt < 4:
            raise ValueError

    assert executed(body, attempts=4).state == RunState.DONE
    assert (charged_to(quota), quota_now(quota).used) == (20, 10)


@pytest.mark.django_db(transaction=True)
def test_a_charge_whose_answer_was_lost_is_not_repeated(quota: Quota, monkeypatch: pytest.MonkeyPatch) -> None:
    """B18: the commit succeeded, and the database went away before it could say so."""
    monkeypatch.setattr(outages, "PAUSE_SECONDS", 0)
    original, keys = charging.charge, []

    def losing(*args: Any, **said: Any) -> charging.Charged:
        charged = original(*args, **said)
        keys.append(said["idempotency_key"])
        if len(keys) == 1:
            raise OperationalError
        return charged

    monkeypatch.setattr("quotas.charging.charge", losing)
    executed(lambda run: run.charge(quota.key, 10))
    assert keys == [keys[0]] * 2
    assert charged_to(quota) == 10


def test_a_refusal_passes_through_the_jobs_own_except_and_says_what_was_refused(quota: Quota) -> None:
    seen: list[PauseNeeded] = []

    def body(run: RunContext) -> None:
        run.charge(quota.key, 99)
        try:
            run.charge(quota.key, 5)
        except Exception:
            pytest.fail("the job's own except caught it")
        except PauseNeeded as pause:
            seen.append(pause)
            raise

    assert executed(body).state == RunState.PAUSED
    (refusal,) = seen[0].refusals
    assert (refusal.key, refusal.amount, refusal.available) == (quota.key, 5, 1)


@pytest.mark.parametrize(
    ("spend", "error"),
    [
        (lambda run, key: run.charge("nobody's"), UnknownQuota),
        (lambda run, key: run.charge(key, 0), BadAmount),
        (lambda run, key: run.charge(key, -5), BadAmount),
        (lambda run, key: run.charge(key, 101), NeverSatisfiable),
        (lambda run, key: run.reserve(key, 101), NeverSatisfiable),
        (lambda run, key: [run.charge(key, n, idempotency_key="k") for n in (1, 2)], Conflict),
    ],
)
def test_what_cannot_be_understood_or_granted_is_an_error_of_the_job(
    quota: Quota, spend: Callable[[RunContext, str], object], error: type[Exception]
) -> None:
    def body(run: RunContext) -> None:
        with pytest.raises(error):
            spend(run, quota.key)

    assert executed(body).state == RunState.DONE


# --- reserve ---------------------------------------------------------------------------------------------------------


def test_what_is_held_is_settled_by_what_it_really_took(quota: Quota) -> None:
    def body(run: RunContext) -> None:
        with run.reserve(quota.key, 40) as held:
            assert quota_now(quota).reserved == 40
            held.settle(25)

    executed(body)
    assert (quota_now(quota).used, quota_now(quota).reserved) == (25, 0)
    audit()


def test_without_a_word_all_of_it_was_used_and_after_an_error_nothing(quota: Quota) -> None:
    def using(run: RunContext) -> None:
        with run.reserve(quota.key, 40):
            pass

    def failing(run: RunContext) -> None:
        with run.reserve(quota.key, 40):
            raise ValueError

    executed(using)
    executed(failing)
    assert (quota_now(quota).used, quota_now(quota).reserved) == (40, 0)
    assert states_of_reservations() == [ReservationState.SETTLED, ReservationState.RELEASED]


def test_settling_twice_changes_nothing(quota: Quota) -> None:
    """B18."""

    def body(run: RunContext) -> None:
        held = run.reserve(quota.key, 40)
        held.settle(10)
        held.settle(30)

    executed(body)
    assert quota_now(quota).used == 10


def test_what_is_held_is_free_when_the_job_releases_it_or_is_refused_amid_it(quota: Quota) -> None:
    def releasing(run: RunContext) -> None:
        run.reserve(quota.key, 40).release()

    def refused(run: RunContext) -> None:
        with run.reserve(quota.key, 40):
            run.charge(quota.key, 61)

    assert executed(releasing).state == RunState.DONE
    assert executed(refused).state == RunState.PENDING  # what it held itself has become free in between
    assert quota_now(quota).reserved == 0


def test_a_reservation_that_does_not_fit_pauses_the_run(quota: Quota) -> None:
    def body(run: RunContext) -> None:
        run.charge(quota.key, 70)
        run.reserve(quota.key, 31)

    assert executed(body).state == RunState.PAUSED


def test_a_named_reservation_that_was_settled_is_not_charged_again(quota: Quota) -> None:
    def body(run: RunContext) -> None:
        with run.reserve(quota.key, 40, idempotency_key="answer 1") as held:
            held.settle(30)
        raise ValueError

    executed(body, attempts=3)
    assert quota_now(quota).used == 30


def test_a_named_reservation_that_was_freed_unused_is_held_anew(quota: Quota) -> None:
    def body(run: RunContext) -> None:
        with run.reserve(quota.key, 40, idempotency_key="answer 1") as held:
            if run.attempt < 3:
                raise ValueError
            held.settle(30)

    assert executed(body, attempts=3).state == RunState.DONE
    assert quota_now(quota).used == 30
    assert states_of_reservations() == [*[ReservationState.RELEASED] * 2, ReservationState.SETTLED]
    audit()

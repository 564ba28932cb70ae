"""The rules of people: they start, start again, cancel, answer, let go on, give up, and ask for ranges of days."""

from collections.abc import Callable
from contextlib import suppress
from datetime import timedelta

from django.core.exceptions import ValidationError
from hypothesis import strategies as st
from hypothesis.stateful import precondition, rule

from scheduler import backfilling, operations
from scheduler.models import Approval, Backfill, Schedule, TaskRun
from scheduler.operations import NotPossible, putting_off
from scheduler.states import RunState
from tests.scheduler.machine.house import House, chosen
from tests.scheduler.machine.planning import PICK

ACTOR = "ada"


class Deciding(House):
    """What people do with schedules and runs, also too late."""

    @precondition(lambda self: self.plans)
    @rule(pick=PICK)
    def run_now(self, pick: int) -> None:
        schedule = Schedule.objects.get(pk=chosen(list(self.plans), pick))
        try:
            operations.run_now(schedule, now=self.tick(), actor=ACTOR)
        except NotPossible:
            assert self.plans[schedule.pk].unreadable_at is not None

    @precondition(lambda self: self.plans and not any(run["backfill_id"] for run in self.runs.values()))
    @rule(pick=PICK, days=st.integers(1, 3), parallel=st.integers(1, 2), again=st.booleans())
    def backfill(self, pick: int, days: int, parallel: int, again: bool) -> None:
        schedule = Schedule.objects.get(pk=chosen(list(self.plans), pick))
        last_day = self.now.date()
        first_day = last_day - timedelta(days=days - 1)
        with suppress(ValidationError):  # all of it is done, or the zone is not known
            backfilling.open_backfill(
                schedule, first_day, last_day, now=self.tick(), actor=ACTOR, parallel=parallel, again=again
            )

    @precondition(lambda self: any(run["backfill_id"] for run in self.runs.values()))
    @rule(pick=PICK)
    def cancel_the_backfill(self, pick: int) -> None:
        backfill = chosen(list(Backfill.objects.order_by("pk")), pick)
        backfilling.cancel_backfill(backfill, now=self.tick(), actor=ACTOR)
        left = TaskRun.objects.filter(backfill=backfill, finished_at__isnull=True)
        assert all(run.state == RunState.RUNNING and run.cancel_requested_at for run in left)

    @precondition(lambda self: self.ended_runs())
    @rule(pick=PICK, from_progress=st.booleans())
    def run_again(self, pick: int, from_progress: bool) -> None:
        run = TaskRun.objects.get(pk=chosen(self.ended_runs(), pick))
        again = operations.run_again(run, now=self.tick(), actor=ACTOR, from_progress=from_progress)
        self.steps[again.pk] = self.steps.get(run.pk, 0) if from_progress else 0
        assert (again.stat_date, again.planned_at, again.rerun_of) == (run.stat_date, run.planned_at, run)

    @precondition(lambda self: self.runs)
    @rule(pick=PICK)
    def cancel(self, pick: int) -> None:
        run = TaskRun.objects.get(pk=chosen(list(self.runs), pick))
        with self.possible(run.finished_at is None):
            assert operations.cancel(run, now=self.tick(), actor=ACTOR) == (run.state != RunState.RUNNING)

    @precondition(lambda self: self.questions)
    @rule(pick=PICK, approve=st.booleans())
    def answer(self, pick: int, approve: bool) -> None:
        approval = Approval.objects.get(pk=chosen(self.questions, pick))
        waits = approval.run.state == RunState.AWAITING_APPROVAL
        with self.possible(waits):
            operations.answer(approval.run, approve=approve, now=self.tick(), actor=ACTOR, why="because")

    @precondition(lambda self: self.runs_in(RunState.FAILED, RunState.DEFERRED))
    @rule(pick=PICK)
    def retry_now(self, pick: int) -> None:
        run = TaskRun.objects.get(pk=chosen(list(self.runs), pick))
        with self.possible(run.finished_at is None and run.state in (RunState.FAILED, RunState.DEFERRED)):
            operations.retry_now(run, now=self.tick(), actor=ACTOR)

    @precondition(lambda self: self.runs)
    @rule(pick=PICK, hours=st.integers(1, 48))
    def put_off(self, pick: int, hours: int) -> None:
        run = TaskRun.objects.get(pk=chosen(list(self.runs), pick))
        waits = run.state in putting_off.MAY_BE_PUT_OFF and run.finished_at is None and run.cancel_requested_at is None
        with self.possible(waits):
            now = self.tick()
            putting_off.put_off(run, now + timedelta(hours=hours), now=now, actor=ACTOR)

    @precondition(lambda self: self.runs_in(RunState.SUSPENDED))
    @rule(pick=PICK, operation=st.sampled_from([operations.let_go_on, operations.let_go_on, operations.give_up]))
    def decide_on_a_suspended_run(self, pick: int, operation: Callable[..., None]) -> None:
        run = TaskRun.objects.get(pk=chosen(self.runs_in(RunState.SUSPENDED), pick))
        operation(run, now=self.tick(), actor=ACTOR)

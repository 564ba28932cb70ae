"""Whatever happens, and in whatever order: the books are right.

Hypothesis draws the order in which schedules fire, runs are launched, workers begin, checkpoint, end, die and are
rescued, quotas run out and come back, people cancel, answer and edit, and the clock jumps, all against the real
database; after each step all rows are looked at. By default it draws some 40 examples, about a minute's worth, and
shows what fails as it was drawn. `TIDELINE_TEST_EXAMPLES=5000` draws as many as that, and takes the time to look for
the shortest way to what fails.
"""

import os

import pytest
from hypothesis import HealthCheck, Phase, settings
from hypothesis.stateful import run_state_machine_as_test

from quotas import charging, reserving, scans
from quotas.models import Quota
from scheduler import firing, launching, operations, pausing, recovering, rescuing, running, sealing
from scheduler.models import Schedule, TaskRun
from scheduler.running import Outcome
from scheduler.states import AttemptOutcome, RunState
from tests.audit import A_MOMENT, audit_schedule
from tests.scheduler.factories import DAY
from tests.scheduler.machine.books import Books
from tests.scheduler.machine.deciding import Deciding
from tests.scheduler.machine.house import WORKERS
from tests.scheduler.machine.planning import ZONE
from tests.scheduler.machine.spending import Spending

pytestmark = [pytest.mark.slow, pytest.mark.django_db(transaction=True)]

EXAMPLES = int(os.environ.get("TIDELINE_TEST_EXAMPLES", "40"))
LONG = EXAMPLES > 1000
STEPS = 40
ENOUGH = 1000  # of each quota, at the end
DONE = Outcome(RunState.DONE, AttemptOutcome.DONE)


class Tideline(Spending, Deciding, Books):
    """All the rules, and the end of an example: every run can be brought to its end, and the audit finds nothing."""

    def come_to_an_end(self) -> None:
        firing.fire_all_due(now=self.tick())
        for schedule in Schedule.objects.all():
            self._audit(schedule)
        self._everything_ends()
        self.the_books_are_right()
        sealing.seal_ended()
        assert all(sealing.verify(pk) for pk in self.runs)

    def _everything_ends(self) -> None:
        """Let time pass and let people do what they are asked: nothing may be left that waits for ever."""
        self.set_clock(self.now.replace(hour=10))  # no quiet hour
        for quota in Quota.objects.all():
            charging.set_limit(quota.key, ENOUGH, now=self.tick(), actor="ada")
        for _ in range(10 + 3 * TaskRun.objects.count()):
            self.set_clock(self.now + DAY)
            if not self._step_towards_the_end():
                return
        raise AssertionError(list(TaskRun.objects.filter(finished_at__isnull=True).values()))

    def _step_towards_the_end(self) -> bool:
        rescuing.rescue_lost(now=self.now)
        for run in TaskRun.objects.filter(state=RunState.SUSPENDED):
            operations.let_go_on(run, now=self.now, actor="ada")
        for run in TaskRun.objects.filter(state=RunState.AWAITING_APPROVAL):
            operations.answer(run, approve=True, now=self.now, actor="ada")
        for run in TaskRun.objects.filter(state=RunState.PAUSED).exclude(pause__held=""):
            operations.resume(run, now=self.now, actor="ada")
        self._resume()
        for leased in launching._without_refused(launching._lease_due(self.now, self.now, 100), self.now):
            begun = running.begin(leased.claim, WORKERS[0], now=self.now)
            assert begun is None or running.settle(begun, DONE, now=self.now)
        return TaskRun.objects.filter(finished_at__isnull=True).exists()

    def _resume(self) -> None:
        """By events and the fallback poll, or with all events switched off by the poll alone."""
        reserving.free_expired(now=self.now)
        if self.events_resume:
            scans.evaluate_due(now=self.now)
            recovering.resume_by_events(now=self.now)
        recovering.poll(clock=lambda: self.now)
        pausing.return_to_pause(now=self.now)

    def _audit(self, schedule: Schedule) -> None:
        planned, schedule.timezone = schedule.next_run_at, ZONE
        until = self.accounted_until(schedule, self.now if planned is None else planned - A_MOMENT)
        stretches = self.plans[schedule.pk].until(until)
        audit_schedule(schedule, stretches, replayed_after=self.plans[schedule.pk].replayed_after)


@pytest.mark.timeout(30 * EXAMPLES if not LONG else 0)  # a busy machine takes long
def test_whatever_happens_in_whatever_order_the_books_are_right() -> None:
    """Spec: state machines against the real database."""
    profile = settings(
        max_examples=EXAMPLES,
        stateful_step_count=STEPS,
        deadline=None,
        suppress_health_check=list(HealthCheck),
        print_blob=True,
        phases=Phase if LONG else [Phase.generate],
    )
    run_state_machine_as_test(Tideline, settings=profile)

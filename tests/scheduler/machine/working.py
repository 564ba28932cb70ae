"""The rules of work: runs are launched, hints come once, twice, late or never, jobs checkpoint, end, die, are freed."""

from dataclasses import replace
from datetime import datetime, timedelta
from zoneinfo import ZoneInfo

from hypothesis import strategies as st
from hypothesis.stateful import precondition, rule

from quotas import reserving
from scheduler import keeping, launching, rescuing, running, sealing
from scheduler.identity import SharedSignals
from scheduler.jobs import RunContext
from scheduler.jobs.interrupts import Cancelled, LeaseLost
from scheduler.launching import LAUNCH_LEASE
from scheduler.models import Schedule, TaskRun
from scheduler.running import Outcome
from scheduler.states import LAUNCHABLE, AttemptOutcome, EventTrigger, RunState
from scheduler.transitions import Claim, Worker
from scheduler.waits import owner_of
from tests.scheduler.factories import HOUR, MINUTE
from tests.scheduler.machine.granting import Granting
from tests.scheduler.machine.house import WORKERS, Work, chosen
from tests.scheduler.machine.planning import AWAY, PICK, ZONE

ENDS = (
    Outcome(RunState.DONE, AttemptOutcome.DONE, output="what it printed"),
    Outcome(RunState.FAILED, AttemptOutcome.FAILED, reason="It broke.", error="It broke."),
    Outcome(RunState.CANCELLED, AttemptOutcome.CANCELLED),
)
BREAKS = (
    Outcome(RunState.DEFERRED, AttemptOutcome.DEFERRED, reason="Not yet."),
    Outcome(RunState.PENDING, AttemptOutcome.HANDED_BACK, EventTrigger.STOP, reason="The worker was stopping."),
)


class Working(Granting):
    """What the launcher, the workers and their keepers do."""

    @precondition(lambda self: self.runs_in(*LAUNCHABLE))
    @rule(limit=st.sampled_from([1, 3, 100]), emptied=st.booleans())
    def launch(self, limit: int, emptied: bool) -> None:
        """Launch as `launch_due` does beside a broker that was emptied, or has no hint waiting."""
        now = self.tick()
        lost_before = now + 2 * LAUNCH_LEASE if emptied else now
        leased = launching._without_quiet(launching._lease_due(now, lost_before, limit), now)
        leased = launching._without_refused(leased, now)
        claims = [item.claim for item in leased]
        self.hints += claims
        for run in TaskRun.objects.filter(pk__in=[claim.run_id for claim in claims]).select_related("schedule"):
            assert run.due_at is not None
            assert run.due_at <= now
            assert run.schedule is None or not is_quiet(run.schedule, now)

    @rule(away=st.sampled_from(AWAY), pick=PICK, worker=st.sampled_from(WORKERS))
    def all_goes_its_usual_way(self, away: timedelta, pick: int, worker: Worker) -> None:
        """What is lost is rescued, what is due is fired, launched and begun; the other rules come in between."""
        self.fire(away, 500)
        rescuing.rescue_lost(now=self.tick())
        self.resume_what_may_go_on(timedelta(0))
        self.launch(100, False)
        while self.hints:
            self.begin(pick, worker, "once")

    @precondition(lambda self: self.works)
    @rule(pick=PICK, worker=st.sampled_from(WORKERS))
    def a_worker_freezes_and_its_runs_begin_elsewhere(self, pick: int, worker: Worker) -> None:
        """Its jobs do not know, and go on when it thaws."""
        self.all_goes_its_usual_way(running.lease_seconds() + MINUTE, pick, worker)

    @precondition(lambda self: self.hints)
    @rule(pick=PICK, worker=st.sampled_from(WORKERS), comes=st.sampled_from(["once", "again later", "never"]))
    def begin(self, pick: int, worker: Worker, comes: str) -> None:
        """A hint arrives, or is lost."""
        claim = chosen(self.hints, pick)
        if comes != "again later":
            self.hints.remove(claim)
        if comes == "never":
            return
        run = running.begin(claim, worker, now=self.tick())
        if run is not None:
            self.works.append(Work(run, RunContext(run, None, SharedSignals())))

    @precondition(lambda self: self.works)
    @rule(pick=PICK)
    def checkpoint(self, pick: int) -> None:
        """Only who holds the run under a lease that has not ended gets through, and nobody once a cancel was asked."""
        work = chosen(self.works, pick)
        run = TaskRun.objects.get(pk=work.run.pk)
        holds = run.state == RunState.RUNNING and run.lease_token == work.run.lease_token
        holds = holds and run.lease_expires_at is not None and run.lease_expires_at > self.tick()
        step = int(work.context.progress.get("step", 0)) + 1
        try:
            work.context.checkpoint(step=step, done=step, total=100)
        except (LeaseLost, Cancelled):
            assert not holds or run.cancel_requested_at is not None
        else:
            assert holds
            assert run.cancel_requested_at is None
            self.steps[run.pk] = step

    @precondition(lambda self: self.works)
    @rule(pick=PICK)
    def the_worker_keeps_its_leases(self, pick: int) -> None:
        work = chosen(self.works, pick)
        mine = TaskRun.objects.filter(lease_owner=work.run.lease_owner, state=RunState.RUNNING)
        mine.update(lease_expires_at=self.tick() + running.lease_seconds())
        reserving.renew([owner_of(run.pk) for run in mine], now=self.now)

    @precondition(lambda self: self.works)
    @rule(pick=PICK, outcome=st.sampled_from(ENDS))
    def the_job_ends(self, pick: int, outcome: Outcome) -> None:
        self._settle(pick, outcome)

    @precondition(lambda self: self.works)
    @rule(pick=PICK, outcome=st.sampled_from(BREAKS), delay=st.sampled_from([0 * MINUTE, MINUTE, 3 * HOUR]))
    def the_job_breaks_off(self, pick: int, outcome: Outcome, delay: timedelta) -> None:
        self._settle(pick, replace(outcome, due_at=self.now + delay))

    @precondition(lambda self: self.works)
    @rule(pick=PICK, question=st.sampled_from(["Send the invoices?", "Delete the old ones?"]))
    def the_job_asks(self, pick: int, question: str) -> None:
        state, outcome = RunState.AWAITING_APPROVAL, AttemptOutcome.AWAITING_APPROVAL
        self._settle(pick, Outcome(state, outcome, reason=question, question=question))

    def _settle(self, pick: int, outcome: Outcome) -> None:
        self.settle(chosen(self.works, pick), outcome)

    def settle(self, work: Work, outcome: Outcome) -> None:
        """A job ends in its own time: its run may be somebody else's by now, and then that does not count."""
        self.works.remove(work)
        before = TaskRun.objects.get(pk=work.run.pk)
        holds = before.state == RunState.RUNNING and before.lease_token == work.run.lease_token
        outcome = replace(outcome, spent=work.context.spending.touched)
        assert running.settle(work.run, outcome, now=self.tick()) == holds

    @precondition(lambda self: self.works)
    @rule(pick=PICK, seen=st.sampled_from(["by its worker", "at the stop", "by nobody"]))
    def the_job_is_killed(self, pick: int, seen: str) -> None:
        """What nobody sees is freed when the lease ends."""
        work = chosen(self.works, pick)
        self.works.remove(work)
        run = work.run
        if seen == "by its worker":
            rescuing.free_attempt(Claim(run.pk, run.lease_token), now=self.tick(), detail="Its process died.")
        elif seen == "at the stop":
            keeping._hand_back(run, self.tick())

    @precondition(lambda self: self.runs_in(RunState.RUNNING))
    @rule(lease_ended=st.booleans())
    def rescue(self, lease_ended: bool) -> None:
        if lease_ended:
            self.set_clock(self.now + running.lease_seconds() + MINUTE)
        rescuing.rescue_lost(now=self.tick())
        assert not TaskRun.objects.filter(state=RunState.RUNNING, lease_expires_at__lt=self.now).exists()

    @precondition(lambda self: any(not self.runs[pk]["seal"] for pk in self.ended_runs()))
    @rule()
    def seal(self) -> None:
        sealing.seal_ended()
        assert not TaskRun.objects.filter(finished_at__isnull=False, seal="").exists()


def is_quiet(schedule: Schedule, now: datetime) -> bool:
    """Tell whether the schedule's clock shows a time of its quiet hours; all of them here pass midnight."""
    if schedule.quiet_from is None or schedule.quiet_until is None or schedule.timezone != ZONE:
        return False
    shown = now.astimezone(ZoneInfo(ZONE)).time()
    return shown >= schedule.quiet_from or shown < schedule.quiet_until

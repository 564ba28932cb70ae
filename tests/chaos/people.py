"""What people do in a campaign, between two blows: they answer, top up, edit, start, and hear of problems."""

import random

from django.db.transaction import atomic

from alerts.recording import raise_alert, resolve_alert
from alerts.states import Severity
from project.kit.clock import database_now
from quotas import charging
from scheduler import operations, schedules
from scheduler.models import Schedule, TaskRun
from scheduler.states import RunState
from tests.alerts.factories import problem
from tests.audit import A_MOMENT, Stretch
from tests.chaos import jobs  # noqa: F401 - who edits a schedule has to know its job
from tests.chaos.work import CREDIT, SPENT_A_RUN, Plan, Work
from tests.faults.outbox_books import RAISED

ACTOR = "the campaign"
ONE_OF_TEN = 0.1


class People:
    """The people of a campaign.

    Attributes:
        raised: how many problems they were told of.
    """

    def __init__(self, work: Work, seed: int) -> None:
        self._work, self._random = work, random.Random(seed)
        self.raised = 0

    def act(self) -> None:
        """Do a little of everything."""
        self.answer()
        self.notice_problems(self._random.choice([0, 1, 1, 3]))
        chance = self._random.random()
        if chance < 0.4:
            self.top_up(self._random.choice([1, SPENT_A_RUN, 2 * SPENT_A_RUN]))
        elif chance < 0.6:
            self.edit(self._work.plans["edited"])
        elif chance < 0.8:
            self.start_by_hand()

    def answer(self) -> None:
        """Answer all questions, one of ten with a no."""
        for run in TaskRun.objects.filter(state=RunState.AWAITING_APPROVAL):
            approve = self._random.random() >= ONE_OF_TEN
            operations.answer(run, approve=approve, now=database_now(), actor=ACTOR, why="" if approve else "Not now.")

    def notice_problems(self, count: int) -> None:
        """Raise alerts that nothing else raises, some of which are soon over."""
        for number in range(self.raised, self.raised + count):
            severity = self._random.choice(Severity.values)
            raise_alert(problem(f"{RAISED}{number}", title=f"x {number}", severity=severity), now=database_now())
            if self._random.random() < ONE_OF_TEN:
                resolve_alert(f"{RAISED}{number}", now=database_now())
        self.raised += count

    def top_up(self, amount: int) -> None:
        """Buy more of the credit."""
        charging.top_up(CREDIT, amount, now=database_now(), actor=ACTOR)

    def edit(self, plan: Plan) -> None:
        """Let the schedule fire at other times from now on, and remember which ones it had."""
        with atomic():
            schedule = Schedule.objects.select_for_update().get(pk=plan.schedule.pk)
            due, before = schedule.next_run_at, schedule.as_trigger()
            assert due is not None
            schedule.interval_seconds = 5 - (schedule.interval_seconds or 0)  # 2 and 3 by turns
            now = database_now()
            schedules.save_changes(schedule, expected_version=schedule.version, now=now)
        still_made = due <= now and schedule.as_trigger().latest_until(due) == due
        plan.before.append(Stretch(before, plan.since, due - A_MOMENT if still_made else max(now, due - A_MOMENT)))
        plan.since = due if still_made else now + A_MOMENT

    def start_by_hand(self) -> None:
        """Run a schedule now."""
        schedule = self._random.choice([plan.schedule for plan in self._work.plans.values()])
        schedule.refresh_from_db()
        try:
            operations.run_now(schedule, now=database_now(), actor=ACTOR)
        except operations.NotPossible:  # one is open already
            return

    def end_the_work(self) -> None:
        """Let nothing new begin, and buy as much credit as can be needed."""
        for plan in self._work.plans.values():
            schedules.pause(plan.schedule, now=database_now(), reason="The campaign is over.", actor=ACTOR)
        self.top_up(SPENT_A_RUN * TaskRun.objects.filter(finished_at__isnull=True).count() + SPENT_A_RUN)

    def help_what_waits(self) -> bool:
        """Answer, resume and let go on whatever waits for a person; tell whether every run has ended."""
        self.answer()
        for run in TaskRun.objects.filter(state=RunState.SUSPENDED):
            operations.let_go_on(run, now=database_now(), actor=ACTOR)
        for run in TaskRun.objects.filter(state=RunState.PAUSED).exclude(pause__held=""):
            operations.resume(run, now=database_now(), actor=ACTOR)
        return not TaskRun.objects.filter(finished_at__isnull=True).exists()

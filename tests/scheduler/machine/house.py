"""The house in which the machine's rules act: a real database, a clock that the rules set, and what is out of the rows'
reach: hints on their way and jobs at work.
"""

import itertools
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from typing import Any, TypeVar

from django.db import connection, transaction
from django.db.models import Max
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine

from scheduler.cron import Trigger
from scheduler.jobs import RunContext
from scheduler.jobs.spending import HeldAmount
from scheduler.models import Fire, Schedule, TaskRun
from scheduler.operations import NotPossible
from scheduler.transitions import Claim, Worker
from tests.audit import A_MOMENT, PLANNED, Stretch
from tests.scheduler.factories import utc

Item = TypeVar("Item")

# The evening before the clocks of Berlin go back, so that the rules walk over the change.
FIRST_MOMENT = utc("2026-10-24 19:59:30")
TICK = timedelta(milliseconds=1)
WORKERS = (Worker("here:1:1:boot", 4_000_001), Worker("there:2:1:boot", 4_000_002))

# Found before PostgreSQL's own, it lets the rules set the database's clock.
CLOCK = """
CREATE SCHEMA simulated;
CREATE FUNCTION simulated.clock_timestamp() RETURNS timestamptz LANGUAGE sql VOLATILE
    AS $$ SELECT current_setting('tideline.now')::timestamptz $$;
SET LOCAL search_path = simulated, pg_catalog, public;
"""


@dataclass
class Work:
    """A job at work in a worker, which may not know yet that its run was taken from it."""

    run: TaskRun
    context: RunContext
    held: list[HeldAmount] = field(default_factory=list)


@dataclass
class PlanHistory:
    """The triggers that a schedule had, and since when it has the present one."""

    trigger: Trigger
    since: datetime
    stretches: list[Stretch] = field(default_factory=list)
    replayed_after: list[int] = field(default_factory=list)
    opened_after: int = 0  # the last fire that was recorded under an earlier trigger
    unreadable_at: datetime | None = None  # the row was broken in the database, and this instant is the last it knows

    def change(self, trigger: Trigger, since: datetime, *, until: datetime) -> None:
        """End the present trigger's stretch, and begin another's."""
        self.stretches.append(Stretch(self.trigger, self.since, min(until, self.unreadable_at or until)))
        self.trigger, self.since, self.unreadable_at = trigger, since, None
        self.opened_after = Fire.objects.aggregate(latest=Max("pk", default=0))["latest"]

    def until(self, until: datetime) -> list[Stretch]:
        """Return the stretches up to an instant."""
        return [*self.stretches, Stretch(self.trigger, self.since, min(until, self.unreadable_at or until))]


class EveryRule:
    """Hypothesis leaves out about half of the rules in each example. Here hardly any run would then come far: it has to
    be opened, launched, begun, and let alone.
    """

    def is_enabled(self, name: str) -> bool:
        """Whether the rule of that name may be drawn."""
        return bool(name)


EVERY_RULE = EveryRule()


class House(RuleBasedStateMachine):
    """One example: all in a transaction that is rolled back at its end."""

    def __init__(self) -> None:
        super().__init__()
        self._rules_strategy.enabled_rules_strategy = st.just(EVERY_RULE)
        self._transaction = transaction.atomic()
        self._transaction.__enter__()
        self.now = FIRST_MOMENT
        with connection.cursor() as cursor:
            cursor.execute(CLOCK)
        self.set_clock(FIRST_MOMENT)
        self.numbers = itertools.count(1)
        self.plans: dict[int, PlanHistory] = {}
        self.hints: list[Claim] = []
        self.works: list[Work] = []
        self.runs: dict[int, dict[str, Any]] = {}  # as the books were seen last
        self.questions: list[int] = []
        self.events_resume = True  # whether quotas' events resume at the end of the example, or the fallback poll alone
        self.steps: dict[int, int] = {}  # by run, how far its accepted checkpoints got

    def set_clock(self, now: datetime) -> None:
        """Set the database's clock."""
        self.now = now
        with connection.cursor() as cursor:
            cursor.execute("SELECT set_config('tideline.now', %s, true)", [now.isoformat()])

    def tick(self) -> datetime:
        """Let a moment pass, and return the present one."""
        self.set_clock(self.now + TICK)
        return self.now

    def runs_in(self, *states: str) -> list[int]:
        """Return the ids of the runs that were last seen in one of the states."""
        return [pk for pk, run in self.runs.items() if run["state"] in states and run["finished_at"] is None]

    def ended_runs(self) -> list[int]:
        """Return the ids of the runs that have ended."""
        return [pk for pk, run in self.runs.items() if run["finished_at"] is not None]

    def accounted_until(self, schedule: Schedule, instant: datetime) -> datetime:
        """Return the instant, or the last one that is recorded of the present trigger if that lies behind it: the clock
        was set back.
        """
        records = Fire.objects.filter(schedule=schedule, kind__in=PLANNED, pk__gt=self.plans[schedule.pk].opened_after)
        return max([instant, *(fire.missed_until or fire.fire_at for fire in records)])

    def planned_anew(self, schedule: Schedule) -> None:
        """Note that the schedule is planned from now on, perhaps from a time for which there are records already, or
        from before its trigger: the clock was set back.
        """
        self.plans[schedule.pk].since = min(self.plans[schedule.pk].since, just_after(self.now))
        records = Fire.objects.filter(schedule=schedule, kind__in=PLANNED)
        ends = [(fire.missed_until or fire.fire_at, fire.pk) for fire in records]
        if ends and max(ends)[0] > self.now:
            self.plans[schedule.pk].replayed_after.append(max(pk for _, pk in ends))

    @contextmanager
    def possible(self, expected: bool) -> Iterator[None]:
        """Expect that the operation in the block is refused unless it is possible."""
        try:
            yield
        except NotPossible:
            assert not expected
        else:
            assert expected

    def teardown(self) -> None:
        """Bring the example to its end, check that, and undo all."""
        try:
            if sys.exc_info()[0] is None:
                self.come_to_an_end()
                with connection.cursor() as cursor:
                    cursor.execute("SET CONSTRAINTS ALL IMMEDIATE")
        finally:
            transaction.set_rollback(True)
            self._transaction.__exit__(None, None, None)

    def come_to_an_end(self) -> None:
        """Check what holds at the end of an example."""
        raise NotImplementedError


def chosen(items: Sequence[Item], pick: int) -> Item:
    """Return one of the items by a number from anywhere."""
    return items[pick % len(items)]


def just_after(instant: datetime) -> datetime:
    """Return the least later instant."""
    return instant + A_MOMENT

"""The rules of time: schedules come, fire, change, pause, break, and the clock goes forward and back."""

from datetime import timedelta
from typing import Any

from django.core.exceptions import ValidationError
from hypothesis import strategies as st
from hypothesis.stateful import initialize, precondition, rule

from quotas.models import Quota
from scheduler import cron, firing, operations, schedules
from scheduler.cron import Trigger
from scheduler.models import Schedule
from tests.scheduler.factories import DAY, HOUR, MINUTE, SECOND
from tests.scheduler.machine.house import A_MOMENT, House, PlanHistory, chosen, just_after

ZONE = "Europe/Berlin"
EXPRESSIONS = ("*/10 * * * *", "0 * * * *", "30 2 * * *", "0 2,14 * * *", "0 0 * * *", "15 */3 * * *")
OPTIONS: tuple[dict[str, Any], ...] = (
    {"overlap": "queue", "quota": "calls", "quota_need": 3},
    {"overlap": "skip", "retry_delays": [60, 600], "resume_by_hand": True},
    {"overlap": "allow", "on_interrupt": "suspend", "misfire_grace_seconds": 0, "quota": "pace", "resume_limit": 1},
    {"overlap": "queue", "on_interrupt": "suspend", "retry_delays": [30], "quota": "credit"},
    {"overlap": "queue", "jitter_seconds": 300, "misfire_grace_seconds": 6 * 3600},
    {"overlap": "allow", "quiet_from": "22:00", "quiet_until": "02:30", "retry_delays": [3600], "quota": "calls"},
)
AWAY = (0 * SECOND, 30 * SECOND, 10 * MINUTE, HOUR, 5 * HOUR, DAY)
STEPS_OF_THE_CLOCK = (SECOND, 2 * MINUTE, HOUR, DAY, -MINUTE, -HOUR, -7 * HOUR, -DAY)
MOST_SCHEDULES = 3
PICK = st.integers(min_value=0, max_value=59)


class Planning(House):
    """What beat, an editor and the clock do."""

    def open_quotas(self) -> None:
        """Create the quotas of which the schedules speak."""
        raise NotImplementedError

    @initialize(options=st.sampled_from(OPTIONS), expression=st.sampled_from(EXPRESSIONS), events=st.booleans())
    def begin_with_a_schedule_and_a_run(self, options: dict[str, Any], expression: str, events: bool) -> None:
        self.events_resume = events
        self.open_quotas()
        self.create(options, expression, 0)
        operations.run_now(self.schedule(0), now=self.tick(), actor="ada")

    @precondition(lambda self: len(self.plans) < MOST_SCHEDULES)
    @rule(options=st.sampled_from(OPTIONS), expression=st.sampled_from(EXPRESSIONS), kind=PICK)
    def create(self, options: dict[str, Any], expression: str, kind: int) -> None:
        now = self.tick()
        quota = Quota.objects.get(key=options["quota"]) if "quota" in options else None
        schedule = schedules.create(
            name=f"schedule {next(self.numbers)}",
            job="test.noop",
            trigger=self._trigger(expression, kind),
            timezone=ZONE,
            now=now,
            **options | {"quota": quota},
        )
        self.plans[schedule.pk] = PlanHistory(schedule.as_trigger(), just_after(now))

    def _trigger(self, expression: str, kind: int) -> Trigger:
        if kind == 1:
            return cron.interval(2400, self.now - 7 * MINUTE)
        if kind == 2:
            return cron.once(self.now + 40 * MINUTE)
        return cron.cron(expression, ZONE)

    @rule(span=st.sampled_from(STEPS_OF_THE_CLOCK))
    def the_clock_goes_on_or_back(self, span: timedelta) -> None:
        self.set_clock(self.now + span)

    @precondition(lambda self: self.plans)
    @rule(away=st.sampled_from(AWAY), batch=st.sampled_from([1, 500]))
    def fire(self, away: timedelta, batch: int) -> None:
        """The scan comes, perhaps after a time in which none came."""
        self.set_clock(self.now + away)
        firing.fire_all_due(now=self.now, batch=batch)
        assert not Schedule.objects.filter(enabled=True, next_run_at__lte=self.now).exists()

    @precondition(lambda self: self.plans)
    @rule(pick=PICK, expression=st.sampled_from(EXPRESSIONS))
    def edit_the_trigger(self, pick: int, expression: str) -> None:
        schedule = self.schedule(pick)
        due, enabled = schedule.next_run_at, schedule.enabled
        schedule.trigger, schedule.cron, schedule.timezone = Schedule.TriggerKind.CRON, expression, ZONE
        now = self.tick()
        changed = schedules.save_changes(schedule, expected_version=schedule.version, now=now)
        if not set(changed) & set(schedules.TRIGGER_FIELDS):
            return
        plan, trigger = self.plans[schedule.pk], schedule.as_trigger()
        if due is not None and enabled and due <= now and trigger.latest_until(due) == due:
            plan.change(trigger, due, until=self.accounted_until(schedule, due - A_MOMENT))  # it is still made
            return
        until = now if due is None else max(now, due - A_MOMENT)
        plan.change(trigger, just_after(now), until=self.accounted_until(schedule, until))
        self.planned_anew(schedule)

    @precondition(lambda self: self.plans)
    @rule(pick=PICK, overlap=st.sampled_from(["queue", "skip", "allow"]), priority=st.integers(0, 2))
    def edit_something_else(self, pick: int, overlap: str, priority: int) -> None:
        schedule = self.schedule(pick)
        planned = schedule.next_run_at
        schedule.overlap, schedule.priority = overlap, priority
        try:
            schedules.save_changes(schedule, expected_version=schedule.version, now=self.tick())
        except ValidationError:
            assert self.plans[schedule.pk].unreadable_at is not None  # what cannot be read is not saved
        schedule.refresh_from_db()
        assert schedule.next_run_at == planned

    @precondition(lambda self: self.plans)
    @rule(pick=PICK, away=st.sampled_from(AWAY))
    def pause_or_enable(self, pick: int, away: timedelta) -> None:
        schedule = self.schedule(pick)
        self.set_clock(self.now + away)
        if schedule.enabled:
            assert schedules.pause(schedule, now=self.tick(), reason="for a test")
            return
        try:
            assert schedules.enable(schedule, now=self.tick())
        except ValidationError:
            assert self.plans[schedule.pk].unreadable_at is not None
        else:
            self.planned_anew(schedule)

    @precondition(lambda self: len(self.plans) == MOST_SCHEDULES)
    @rule(pick=PICK)
    def break_the_zone_in_the_database(self, pick: int) -> None:
        schedule = self.schedule(pick)
        if schedule.next_run_at is not None and self.plans[schedule.pk].unreadable_at is None:
            Schedule.objects.filter(pk=schedule.pk).update(timezone="Mars/Olympus")
            self.plans[schedule.pk].unreadable_at = schedule.next_run_at

    def schedule(self, pick: int) -> Schedule:
        """Return one of the schedules."""
        return Schedule.objects.get(pk=chosen(list(self.plans), pick))

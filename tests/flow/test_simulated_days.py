"""Days in fast time over the changes of the clocks, with the service down at random, and then the audit."""

import itertools
import random
from collections.abc import Iterator
from datetime import datetime, timedelta

import pytest

from scheduler import cron, schedules, transitions
from scheduler.firing import fire_all_due
from scheduler.models import Fire, Schedule, TaskRun
from scheduler.states import EventTrigger, FireOutcome, RunState
from scheduler.transitions import Claim
from tests.audit import A_MOMENT, Stretch, audit_schedule
from tests.scheduler.factories import DAY, HOUR, MINUTE, SECOND, utc

pytestmark = [pytest.mark.slow, pytest.mark.django_db, pytest.mark.timeout(900)]  # a busy machine takes long

# Changes at one, two and three o'clock and at midnight, of an hour and of half an hour, north and south.
ZONES = (
    "America/New_York",
    "America/St_Johns",
    "America/Havana",
    "America/Santiago",
    "Europe/London",
    "Europe/Berlin",
    "Africa/Cairo",
    "Asia/Beirut",
    "Asia/Jerusalem",
    "Australia/Sydney",
    "Australia/Lord_Howe",
    "Pacific/Auckland",
)
# The days of 2026 on which one of the zones puts its clocks forward or back.
SPRING = ("2026-03-08", "2026-03-27", "2026-03-29", "2026-04-05", "2026-04-24")
AUTUMN = ("2026-09-06", "2026-09-27", "2026-10-04", "2026-10-25", "2026-10-30", "2026-11-01")
TRIGGERS = (
    "30 2 * * *",
    "0 0 * * *",
    "15,45 1-3 * * *",
    "0 2,3 * * *",
    "*/20 * * * *",
    "30 * * * *",
    "0 */2 * * *",
    "*/30 1 * * *",
    "59 23 * * 0",
    "@daily",
    "*/5 0-4 * * *",
    5400,
)
GRACES = (0, 300, 3600, 4 * 3600)
NUMBER = 200
# From one look to the next: mostly a scan's interval, at times a restart, an outage, half a day without a service.
GAPS = (30 * SECOND, MINUTE, 2 * MINUTE, 5 * MINUTE, 17 * MINUTE, 65 * MINUTE, 3 * HOUR, 11 * HOUR)
CHANCES = (15, 20, 20, 20, 20, 5, 2, 0.7)


@pytest.mark.parametrize(("season", "seed"), [(SPRING, 1), (AUTUMN, 2)])
def test_each_instant_of_200_schedules_is_fired_or_skipped_once_over_both_changes(
    season: tuple[str, ...], seed: int
) -> None:
    """Between the days nobody looks, for weeks. Two scanners take turns; one of them takes few rows at a time."""
    chance = random.Random(seed)
    began = utc(season[0]) - 12 * HOUR
    created = [make(number, began, chance) for number in range(NUMBER)]
    batches = itertools.cycle([500, 7])
    now = began
    for now in looks(season, chance):
        fired = fire_all_due(now=now, batch=next(batches))
        assert fired.started <= NUMBER
        end_some_runs(now, chance)
    for schedule in created:
        audit(schedule, began, now)
    assert_it_was_worth_it()


def make(number: int, now: datetime, chance: random.Random) -> Schedule:
    """Create one of the schedules: each trigger in each zone, and then at random."""
    zone = ZONES[number % len(ZONES)]
    trigger = TRIGGERS[number // len(ZONES) % len(TRIGGERS)]
    return schedules.create(
        name=f"schedule {number}",
        job="test.noop",
        trigger=cron.cron(trigger, zone) if isinstance(trigger, str) else cron.interval(trigger, now - 11 * MINUTE),
        timezone=zone,
        now=now,
        overlap=chance.choice(list(Schedule.Overlap)),
        misfire_grace_seconds=chance.choice(GRACES),
        stat_date_offset=chance.choice([-1, 0, 1]),
    )


def looks(days: tuple[str, ...], chance: random.Random) -> Iterator[datetime]:
    """Yield when a scanner looks, for as long as it is one of the days in one of the zones."""
    for day in days:
        now = utc(day) - 13 * HOUR
        while now < utc(day) + DAY + 5 * HOUR:
            yield now + timedelta(microseconds=chance.randrange(1_000_000))
            now += chance.choices(GAPS, CHANCES)[0]


def end_some_runs(now: datetime, chance: random.Random) -> None:
    """End a part of the open runs, so that what may not overlap sometimes can begin."""
    if chance.random() < 0.7:
        return
    unfinished = TaskRun.objects.filter(finished_at__isnull=True).values_list("pk", flat=True)
    claims = [Claim(pk) for pk in unfinished if chance.random() < 0.5]
    transitions.move(claims, RunState.CANCELLED, now=now, trigger=EventTrigger.MANUAL, actor="ada", reason="Enough.")


def audit(schedule: Schedule, began: datetime, ended: datetime) -> None:
    """Audit all that was due since the schedule was created, up to its next instant, which lies ahead."""
    schedule.refresh_from_db()
    assert schedule.next_run_at is not None
    assert schedule.next_run_at > ended
    audit_schedule(schedule, [Stretch(schedule.as_trigger(), began + A_MOMENT, schedule.next_run_at - A_MOMENT)])


def assert_it_was_worth_it() -> None:
    """Assert that all of it came about: fires on time, made-up ones, skips of one and of many, overlaps."""
    kinds = set(Fire.objects.values_list("kind", "outcome").distinct())
    started, missed, overlap = FireOutcome.STARTED, FireOutcome.SKIPPED_MISFIRE, FireOutcome.SKIPPED_OVERLAP
    assert kinds >= {("scheduled", started), ("misfire", started), ("misfire", missed), ("scheduled", overlap)}
    assert Fire.objects.filter(missed_count=1).exists()
    assert Fire.objects.filter(missed_count__gt=100).exists()

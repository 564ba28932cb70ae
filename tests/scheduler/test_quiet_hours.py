"""Quiet hours: in a local window of its schedule nothing is launched; what is due is put off to the window's end."""

from collections.abc import Iterator
from datetime import datetime, time

import pytest
import redis
from django.conf import settings
from django.core.exceptions import ValidationError
from django.db import IntegrityError, transaction

from scheduler import cron, launching, operations, quiet_hours, schedules
from scheduler.models import Schedule, TaskRun
from scheduler.states import RunState
from tests.races.helpers import run_after
from tests.scheduler.factories import (
    DAY,
    MINUTE,
    NOW,
    events_of,
    launched,
    make_run,
    make_schedule,
    row,
    utc,
)

NIGHT = {"quiet_from": time(22), "quiet_until": time(6)}
MIDNIGHT = utc("2026-06-02 00:00")


def made_and_put_off(now: datetime, state: RunState = RunState.PENDING, **fields: object) -> TaskRun:
    """Return a run of a schedule with these fields after it was leased and asked for quiet hours."""
    run = make_run(state, schedule=make_schedule(**fields), now=now)
    quiet_hours.put_off([launched(run, now=now)], now=now)
    return TaskRun.objects.get(pk=run.pk)


# --- runs that are due in it --------------------------------------------------------------------------------------


@pytest.mark.django_db
@pytest.mark.parametrize("state", [RunState.PENDING, RunState.FAILED, RunState.DEFERRED])
def test_what_is_due_in_quiet_hours_is_put_off_to_their_end_and_says_so(state: RunState) -> None:
    run = made_and_put_off(MIDNIGHT, state, **NIGHT)
    assert (run.state, run.due_at, run.lease_expires_at) == (RunState.DEFERRED, utc("2026-06-02 06:00"), None)
    assert run.reason == "Quiet hours until 2026-06-02 06:00:00 UTC."


@pytest.mark.django_db
def test_the_put_off_stands_in_the_history_and_keeps_attempts_failures_and_progress() -> None:
    run = make_run(RunState.FAILED, schedule=make_schedule(**NIGHT), now=MIDNIGHT, progress={"page": 7})
    quiet_hours.put_off([launched(run, now=MIDNIGHT)], now=MIDNIGHT)
    after = row(run)
    assert (after["attempt_count"], after["failure_count"], after["progress"]) == (1, 1, '{"page": 7}')
    assert events_of(run)[-1] == ("failed", "deferred", "schedule")


@pytest.mark.django_db
def test_what_waits_for_its_quota_goes_on_whatever_the_hour() -> None:
    run = made_and_put_off(MIDNIGHT, RunState.RESUMING, **NIGHT)
    assert (run.state, run.due_at) == (RunState.RESUMING, MIDNIGHT)


@pytest.mark.django_db
@pytest.mark.parametrize("zone", ["Europe/Berlin", "Asia/Shanghai", "America/New_York"])
def test_quiet_hours_are_those_of_the_schedules_own_zone(zone: str) -> None:
    run = made_and_put_off(utc("2026-06-01 22:30"), timezone=zone, **NIGHT)
    in_berlin = zone == "Europe/Berlin"  # 00:30 there, 06:30 in Shanghai and 18:30 in New York
    assert (run.state, run.due_at) == (
        (RunState.DEFERRED, utc("2026-06-02T06:00+02:00")) if in_berlin else (RunState.PENDING, utc("2026-06-01 22:30"))
    )


@pytest.mark.django_db
def test_a_schedule_without_quiet_hours_and_a_run_without_a_schedule_are_launched_at_night() -> None:
    runs = [make_run(schedule=make_schedule(), now=MIDNIGHT), make_run(now=MIDNIGHT)]
    assert quiet_hours.put_off([launched(run, now=MIDNIGHT) for run in runs], now=MIDNIGHT) == set()


@pytest.mark.django_db
def test_a_zone_that_is_not_known_any_more_keeps_no_run_of_others_from_being_launched() -> None:
    lost = make_run(schedule=make_schedule(**NIGHT), now=MIDNIGHT)
    Schedule.objects.filter(pk=lost.schedule_id).update(timezone="Mars/Olympus")
    quiet = make_run(schedule=make_schedule(**NIGHT), now=MIDNIGHT)
    claims = [launched(run, now=MIDNIGHT) for run in (lost, quiet)]
    assert quiet_hours.put_off(claims, now=MIDNIGHT) == {quiet.pk}


@pytest.mark.django_db
def test_a_run_that_was_cancelled_meanwhile_stays_cancelled() -> None:
    run = make_run(schedule=make_schedule(**NIGHT), now=MIDNIGHT)
    claim = launched(run, now=MIDNIGHT)
    with run_after(
        "scheduler.quiet_hours._with_quiet_hours",
        lambda: operations.cancel(run, now=MIDNIGHT, actor="ann"),
        elsewhere=False,
    ):
        quiet_hours.put_off([claim], now=MIDNIGHT)
    assert TaskRun.objects.get(pk=run.pk).state == RunState.CANCELLED


# --- in the launch ------------------------------------------------------------------------------------------------


@pytest.fixture
def queue() -> Iterator[redis.Redis]:
    """The broker of the test process, with no hints in it."""
    client = redis.Redis.from_url(settings.REDIS_URL)
    client.delete("tideline:runs")
    client.set("tideline:not-emptied", "by an earlier test")
    yield client
    client.delete("tideline:runs")
    client.close()


@pytest.mark.django_db
@pytest.mark.parametrize(
    ("now", "hints"),
    [(utc("2026-06-02 05:59:59.999999"), 1), (utc("2026-06-02 06:00"), 2), (utc("2026-06-02 06:00:00.000001"), 2)],
)
def test_nothing_is_launched_before_the_window_ends(queue: redis.Redis, now: datetime, hints: int) -> None:
    make_run(schedule=make_schedule(**NIGHT), now=MIDNIGHT)
    make_run(now=MIDNIGHT)
    assert launching.launch_due(now=now).hints == hints
    assert queue.llen("tideline:runs") == hints


@pytest.mark.django_db
def test_what_was_put_off_is_launched_when_the_window_has_ended(queue: redis.Redis) -> None:
    run = make_run(schedule=make_schedule(**NIGHT), now=MIDNIGHT)
    assert launching.launch_due(now=MIDNIGHT).runs == 0
    assert launching.launch_due(now=utc("2026-06-02 05:59:59")).runs == 0
    assert launching.launch_due(now=utc("2026-06-02 06:00")).runs == 1
    assert events_of(run) == [("", "pending", "schedule"), ("pending", "deferred", "schedule")]


@pytest.mark.django_db
def test_a_run_that_becomes_due_while_the_launch_looks_is_not_launched_either(queue: redis.Redis) -> None:
    schedule = make_schedule(**NIGHT, overlap=Schedule.Overlap.ALLOW)
    with run_after("scheduler.launching._room", lambda: make_run(schedule=schedule, now=MIDNIGHT), elsewhere=False):
        assert launching.launch_due(now=MIDNIGHT).runs == 0
    assert TaskRun.objects.get(schedule=schedule).state == RunState.DEFERRED


@pytest.mark.django_db
def test_however_many_are_due_in_quiet_hours_none_is_launched(queue: redis.Redis) -> None:
    schedule = make_schedule(**NIGHT, overlap=Schedule.Overlap.ALLOW)
    other = make_run(now=MIDNIGHT)
    runs = [make_run(schedule=schedule, now=MIDNIGHT, priority=5) for _ in range(7)]
    assert sum(launching.launch_due(now=MIDNIGHT, limit=3).runs for _ in range(3)) == 1
    assert TaskRun.objects.filter(pk__in=[run.pk for run in runs], state=RunState.DEFERRED).count() == 7
    assert TaskRun.objects.get(pk=other.pk).lease_token == 1


@pytest.mark.django_db
def test_a_running_run_goes_on_into_quiet_hours() -> None:
    run = make_run(RunState.RUNNING, schedule=make_schedule(**NIGHT), now=MIDNIGHT - DAY)
    assert launching.launch_due(now=MIDNIGHT).runs == 0
    assert TaskRun.objects.get(pk=run.pk).state == RunState.RUNNING


@pytest.mark.django_db
def test_what_a_person_makes_due_in_quiet_hours_is_put_off_again() -> None:
    """Who wants it now has to change the hours."""
    run = made_and_put_off(MIDNIGHT, **NIGHT)
    operations.retry_now(run, now=MIDNIGHT + MINUTE, actor="ann")
    run.refresh_from_db()
    assert quiet_hours.put_off([launched(run, now=MIDNIGHT + MINUTE)], now=MIDNIGHT + MINUTE) == {run.pk}


# --- the rows -----------------------------------------------------------------------------------------------------


@pytest.mark.django_db
@pytest.mark.parametrize(
    ("begins", "ends", "field", "sentence"),
    [
        (time(22), None, "quiet_until", "Quiet hours need both ends"),
        (None, time(6), "quiet_from", "Quiet hours need both ends"),
        (time(6), time(6), "quiet_until", "would never end"),
    ],
)
def test_half_a_window_and_an_endless_one_are_refused(
    begins: time | None, ends: time | None, field: str, sentence: str
) -> None:
    with pytest.raises(ValidationError) as refusal:
        schedules.create(
            name="one",
            job="test.noop",
            trigger=cron.cron("0 2 * * *", "UTC"),
            now=NOW,
            quiet_from=begins,
            quiet_until=ends,
        )
    assert sentence in refusal.value.message_dict[field][0]
    with pytest.raises(IntegrityError, match="schedule_quiet_has_two_ends"), transaction.atomic():
        make_schedule(quiet_from=begins, quiet_until=ends)

"""Who is resumed and gets nowhere waits longer each time, until a person is told."""

from datetime import timedelta
from typing import Any

import pytest

from project.kit.clock import database_now
from quotas import charging
from quotas.models import Edge, Quota
from quotas.states import Verdict
from scheduler import pausing, resuming, running
from scheduler.jobs import RunContext
from scheduler.models import Pause, TaskRun
from scheduler.pausing import FIRST_DELAY, LONGEST_DELAY, MOST_PAUSES_AN_HOUR, SETBACKS_UNTIL_TOLD
from scheduler.states import EventTrigger, RunState
from tests.hearing import hearing
from tests.quotas.factories import (
    audit,
    make_daily,
    spend,
)
from tests.quotas.factories import now_is as quota_now
from tests.scheduler.factories import (
    DAY,
    HOUR,
    MINUTE,
    NOW,
    SECOND,
    WORKER,
    events_of,
    launched,
)
from tests.scheduler.pauses import (
    begun,
    due,
    floor,
    held_back,
    now_is,
    pause,
    pause_of,
    paused,
    refusal,
    set_back,
    states,
    used_up,
)

pytestmark = pytest.mark.django_db


# --- valves ----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("fields", "held"),
    [
        ({}, ""),
        ({"resume_limit": 0}, Pause.Held.LIMIT),
        ({"resume_limit": 1}, ""),
        ({"resume_by_hand": True}, Pause.Held.AGREEMENT),
        ({"resume_by_hand": True, "resume_limit": 0}, Pause.Held.AGREEMENT),
    ],
)
def test_a_valve_holds_a_run_whether_it_was_running_or_only_due(fields: dict[str, Any], held: str) -> None:
    quota = used_up()
    assert pause_of(paused(quota, **fields)).held == held
    newcomer = due(quota, **fields)
    held_back(newcomer)
    assert pause_of(newcomer).held == held


def test_a_run_that_was_resumed_as_often_as_it_may_be_is_held() -> None:
    quota = used_up()
    run = paused(quota, resume_limit=2)
    Pause.objects.filter(run=run).update(resume_count=2)
    TaskRun.objects.filter(pk=run.pk).update(state=RunState.RESUMING, due_at=NOW)
    pause(begun(run), refusal(quota), progressed=True)
    assert pause_of(run).held == Pause.Held.LIMIT


# --- setbacks --------------------------------------------------------------------------------------------------------


def test_the_first_pause_is_no_setback() -> None:
    run = paused(used_up())
    assert (pause_of(run).setbacks, pause_of(run).not_before) == (0, None)


def test_a_run_that_pauses_again_without_getting_anywhere_waits_longer_each_time() -> None:
    """B5, B9j."""
    quota = used_up()
    run = paused(quota)
    delays = []
    for hour in range(1, 5):
        stands = set_back(run, quota, now=NOW + hour * HOUR)
        assert stands.not_before is not None
        delays.append(stands.not_before - (NOW + hour * HOUR))
    assert delays == [FIRST_DELAY, 2 * FIRST_DELAY, 4 * FIRST_DELAY, 8 * FIRST_DELAY]


def test_the_delay_grows_no_further_than_an_hour() -> None:
    quota = used_up()
    run = paused(quota)
    Pause.objects.filter(run=run).update(setbacks=50)
    assert set_back(run, quota, now=NOW + HOUR).not_before == NOW + HOUR + LONGEST_DELAY


def test_after_several_setbacks_it_is_held_for_a_person_who_is_told_once() -> None:
    quota = used_up()
    run = paused(quota)
    with hearing() as told:
        helds = [set_back(run, quota, now=NOW + hour * HOUR).held for hour in range(1, SETBACKS_UNTIL_TOLD + 1)]
    assert helds == [""] * (SETBACKS_UNTIL_TOLD - 1) + [Pause.Held.SETBACKS]
    assert [each.kind for each in told] == ["run_not_resumed"]


def test_getting_somewhere_forgets_the_setbacks() -> None:
    quota = used_up()
    run = paused(quota)
    for hour in (1, 2):
        set_back(run, quota, now=NOW + hour * HOUR)
    stands = set_back(run, quota, now=NOW + 3 * HOUR, progressed=True)
    assert (stands.setbacks, stands.not_before) == (0, None)


def test_a_job_got_somewhere_if_it_checkpointed_or_was_granted_anything() -> None:
    open_, closed = make_daily(10, now=database_now()), used_up(now=database_now())

    def refused(run: RunContext) -> None:
        run.charge(closed.key)

    def granted(run: RunContext) -> None:
        run.charge(open_.key)
        run.charge(closed.key)

    def checkpointed(run: RunContext) -> None:
        run.checkpoint(page=1)
        run.charge(closed.key)

    setbacks = []
    for job in (refused, granted, checkpointed):
        with floor(job) as worker:
            run = worker.execute(worker.open())
            Pause.objects.filter(run=run).update(resume_count=1)
            TaskRun.objects.filter(pk=run.pk).update(state=RunState.PENDING, due_at=database_now())
            worker.execute(run)
            setbacks.append(pause_of(run).setbacks)
    assert setbacks == [1, 0, 0]


def test_more_than_twelve_pauses_an_hour_wait_until_the_hour_has_passed_and_are_told() -> None:
    """B58."""
    quota = used_up()
    run = paused(quota)
    with hearing() as told:
        for minute in range(1, MOST_PAUSES_AN_HOUR):
            assert pause_of(run).not_before is None
            set_back(run, quota, now=NOW + minute * MINUTE, progressed=True)
    assert pause_of(run).not_before == NOW + HOUR
    assert [each.kind for each in told] == ["run_flaps"]


def test_pauses_that_are_spread_over_the_day_are_no_flapping() -> None:
    quota = used_up(now=NOW - DAY)
    spend(quota, 100)
    run = paused(quota)
    for number in range(1, 2 * MOST_PAUSES_AN_HOUR):
        set_back(run, quota, now=NOW + number * timedelta(minutes=6), progressed=True)
    assert pause_of(run).not_before is None


# --- resumed, and not begun ------------------------------------------------------------------------------------------


def resumed(quota: Quota, run: TaskRun) -> TaskRun:
    """Let the quota come back."""
    charging.set_limit(quota.key, 1000, now=NOW)
    assert resuming.take_edges(now=NOW) == 1
    return now_is(run)


def test_a_resumed_run_that_no_worker_begins_by_its_deadline_is_paused_again_and_waits_longer() -> None:
    """B9a."""
    quota = used_up()
    run = resumed(quota, paused(quota))
    assert run.deadline_at is not None
    assert pausing.return_to_pause(now=run.deadline_at - SECOND) == 0
    assert pausing.return_to_pause(now=run.deadline_at) == 1
    stands = pause_of(run)
    assert (states(run), stands.setbacks) == ([RunState.PAUSED], 1)
    assert stands.not_before == run.deadline_at + FIRST_DELAY
    assert events_of(run)[-1] == (RunState.RESUMING, RunState.PAUSED, EventTrigger.TIMEOUT)
    assert quota_now(quota).reserved == 0
    audit()


def test_a_resume_that_nobody_began_does_not_count_against_the_limit() -> None:
    """B9j."""
    quota = used_up()
    run = resumed(quota, paused(quota, resume_limit=1))
    pausing.return_to_pause(now=NOW + HOUR)
    assert (pause_of(run).resume_count, pause_of(run).held) == (0, "")


def test_after_several_a_person_is_told_once_and_it_is_still_tried() -> None:
    quota = used_up()
    run = resumed(quota, paused(quota))
    with hearing() as told:
        for hour in range(1, SETBACKS_UNTIL_TOLD + 3):
            now = NOW + hour * 2 * HOUR
            pausing.return_to_pause(now=now)
            assert resuming.resume(quota.pk, by_poll(), now=now + HOUR) == 1
    assert [each.kind for each in told] == ["run_not_resumed"]
    assert (states(run), pause_of(run).held) == ([RunState.RESUMING], "")


def by_poll() -> resuming.Resumption:
    """Return what the fallback poll sets off."""
    return resuming.Resumption(EventTrigger.FALLBACK_POLL, "It is back.")


def test_the_hint_of_a_launch_before_the_deadline_begins_nothing_afterwards() -> None:
    quota = used_up()
    run = resumed(quota, paused(quota))
    hint = launched(run)
    pausing.return_to_pause(now=NOW + HOUR)
    resuming.resume(quota.pk, by_poll(), now=NOW + 2 * HOUR)
    launched(now_is(run), now=NOW + 2 * HOUR)
    assert running.begin(hint, WORKER, now=NOW + 2 * HOUR) is None


def test_a_resumed_run_that_is_to_be_cancelled_stays_due_for_the_worker_that_tells_its_job() -> None:
    quota = used_up()
    run = resumed(quota, paused(quota))
    TaskRun.objects.filter(pk=run.pk).update(cancel_requested_at=NOW)
    assert pausing.return_to_pause(now=NOW + HOUR) == 0
    assert states(run) == [RunState.RESUMING]


def test_pausing_is_no_edge() -> None:
    quota = used_up()
    paused(quota)
    assert not Edge.objects.exists()
    assert quota_now(quota).verdict == Verdict.INSUFFICIENT

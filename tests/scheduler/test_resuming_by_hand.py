"""A person lets a paused run go on, by the same entry as an edge."""

from collections.abc import Callable
from functools import partial

import pytest

from quotas import charging
from scheduler import operations
from scheduler.models import Pause, RunEvent, TaskRun
from scheduler.operations import Resumed
from scheduler.resuming import take_edges
from scheduler.states import EventTrigger, RunState
from tests.races.helpers import run_before
from tests.scheduler.factories import (
    NOW,
    SECOND,
    events_of,
)
from tests.scheduler.pauses import (
    come_back,
    delayed,
    held,
    pause_of,
    paused,
    states,
    used_up,
)

pytestmark = pytest.mark.django_db

PAUSED, RESUMING = RunState.PAUSED, RunState.RESUMING


@pytest.mark.parametrize("hindered", [delayed, held])
def test_a_person_resumes_what_is_held_or_delayed(hindered: Callable[[TaskRun], None]) -> None:
    quota = used_up()
    run = paused(quota)
    hindered(run)
    assert come_back(quota) == 0
    assert operations.resume(run, now=NOW, actor="ann", reason="the bill is paid") == Resumed.RESUMED
    event = RunEvent.objects.filter(run=run).latest("id")
    assert (event.trigger, event.actor, event.reason) == (EventTrigger.MANUAL, "ann", "the bill is paid")
    assert pause_of(run).held == ""


def test_who_is_resumed_by_hand_meanwhile_takes_no_place_of_those_who_still_wait() -> None:
    quota = used_up()
    first, second = paused(quota, 10), paused(quota, 10, now=NOW + SECOND)
    charging.set_limit(quota.key, 120, now=NOW)
    by_hand = partial(operations.resume, first, now=NOW, actor="ann")
    with run_before("scheduler.resuming.open_books_of_all", by_hand, elsewhere=False):
        assert take_edges(now=NOW) == 1
    assert states(first, second) == [RESUMING, RESUMING]


def test_the_api_is_told_from_a_person() -> None:
    quota = used_up()
    run = paused(quota)
    held(run)
    come_back(quota)
    operations.resume(run, now=NOW, actor="ann", trigger=EventTrigger.API)
    assert events_of(run)[-1][2] == EventTrigger.API
    assert pause_of(run).last_trigger == EventTrigger.API


def test_a_person_cannot_resume_what_the_quota_still_refuses_but_nothing_else_holds_it_any_more() -> None:
    quota = used_up()
    run = paused(quota)
    held(run)
    assert operations.resume(run, now=NOW, actor="ann") == Resumed.WAITS
    assert come_back(quota) == 1


def test_what_a_person_released_goes_on_when_its_need_comes_though_the_verdict_never_changes() -> None:
    quota = used_up(100)
    run = paused(quota, 50)
    held(run)
    come_back(quota, 30)
    assert operations.resume(run, now=NOW, actor="ann") == Resumed.WAITS
    assert come_back(quota, 60) == 1


def test_a_person_who_resumes_one_run_leaves_the_edge_to_the_others() -> None:
    quota = used_up()
    runs = [paused(quota) for _ in range(3)]
    charging.set_limit(quota.key, 1000, now=NOW)
    assert operations.resume(runs[1], now=NOW, actor="ann") == Resumed.RESUMED
    assert take_edges(now=NOW) == 2


def test_the_setbacks_of_a_run_that_a_person_resumed_begin_anew() -> None:
    quota = used_up()
    run = paused(quota)
    Pause.objects.filter(run=run).update(setbacks=5, held=Pause.Held.SETBACKS)
    operations.resume(run, now=NOW, actor="ann")
    assert (pause_of(run).setbacks, pause_of(run).held) == (0, "")

"""Due runs whose quota would refuse them wait at once, instead of being launched only to fail."""

import pytest

from quotas import charging
from quotas.states import Verdict
from scheduler import pausing, resuming
from scheduler.models import Attempt, TaskRun
from scheduler.states import RunState
from tests.quotas.factories import (
    change_row,
    make_daily,
    make_family,
    spend,
)
from tests.quotas.factories import now_is as quota_now
from tests.scheduler.factories import (
    NOW,
    claim_of,
    launched,
    make_run,
)
from tests.scheduler.pauses import (
    due,
    held_back,
    now_is,
    states,
    used_up,
    waits_of,
)

pytestmark = pytest.mark.django_db


def test_the_due_runs_of_a_quota_that_is_used_up_wait_together_instead_of_being_launched() -> None:
    quota = used_up(default_step=2)
    runs = [due(quota), due(quota, quota_need=5)]
    assert held_back(*runs) == [True, True]
    assert states(*runs) == [RunState.PAUSED] * 2
    assert [waits_of(run)[0][1] for run in runs] == [2, 5]
    assert "it waits, and is not launched" in now_is(runs[0]).reason
    assert not Attempt.objects.exists()


def test_a_quota_that_has_enough_holds_nobody_back() -> None:
    runs = [due(make_daily(10)), make_run()]
    launched(runs[1])
    assert held_back(*runs) == [False, False]


def test_a_need_that_is_not_there_is_held_back_though_smaller_ones_are() -> None:
    quota = make_daily(10)
    spend(quota, 6)
    assert held_back(due(quota, quota_need=5), due(quota, quota_need=4)) == [True, False]


def test_a_need_above_the_limit_is_launched_so_that_it_fails_at_once() -> None:
    assert held_back(due(used_up(10), quota_need=11)) == [False]


def test_a_run_that_is_to_be_cancelled_is_launched_so_that_its_job_is_told() -> None:
    run = due(used_up())
    TaskRun.objects.filter(pk=run.pk).update(cancel_requested_at=NOW)
    assert held_back(run) == [False]


def test_a_run_that_was_resumed_passes_the_gate() -> None:
    quota = used_up()
    run = make_run(RunState.RESUMING, quota=quota)
    launched(run)
    assert held_back(run) == [False]


def test_what_another_launched_meanwhile_is_not_held_back() -> None:
    run = due(used_up())
    stale = claim_of(run)
    launched(run)
    assert pausing.hold_back([stale], now=NOW) == set()
    assert states(run) == [RunState.PENDING]


def test_while_the_verdict_is_insufficient_newcomers_wait_behind_those_who_wait() -> None:
    """B58: 5 % are there, and the bar is 10 %."""
    quota = used_up(100)
    charging.set_limit(quota.key, 105, now=NOW)
    assert quota_now(quota).verdict == Verdict.INSUFFICIENT
    run = due(quota)
    assert held_back(run) == [True]
    assert quota_now(quota).waited_for == 1
    charging.set_limit(quota.key, 120, now=NOW)
    assert resuming.take_edges(now=NOW) == 1
    assert states(run) == [RunState.RESUMING]


def test_the_gate_of_a_quota_in_shadow_mode_is_open() -> None:
    assert held_back(due(used_up(shadow=True))) == [False]


def test_a_parent_that_is_used_up_holds_back_the_runs_of_its_children() -> None:
    parent, leaf, other = make_family(root=10)
    spend(other, 10)
    assert held_back(due(leaf)) == [True]
    assert (quota_now(parent).waited_for, quota_now(leaf).waited_for) == (1, None)


def test_a_quota_whose_zone_is_not_known_any_more_holds_up_no_launch() -> None:
    broken, spent = used_up(), used_up()
    change_row(broken, timezone="Atlantis/Capital", period_end=NOW)
    assert held_back(due(broken), due(spent)) == [False, True]

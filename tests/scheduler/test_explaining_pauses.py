"""Why a run does not go on that waits for quotas, and what becomes of one that was resumed."""

from typing import Any

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext

from project.kit.clock import database_now
from quotas import charging
from scheduler import recovering, running
from scheduler.explaining import RowRef, Situation, next_in_words
from scheduler.states import RunState
from tests.quotas.factories import block, books_of, make_daily, make_quota, make_rate, now_is, spend
from tests.scheduler.factories import DAY, HOUR, MINUTE, NOW, SECOND, WORKER, launched, make_run, make_schedule, utc
from tests.scheduler.paused_runs import held_back_run, refused_run, used_up
from tests.scheduler.why import why

pytestmark = pytest.mark.django_db

MIDNIGHT = utc("2026-06-02 00:00")


# --- what it waits for -----------------------------------------------------------------------------------------


def test_our_own_budget_says_what_is_needed_what_is_left_and_when_it_is_reset() -> None:
    quota = used_up(make_daily(key="fans", unit="calls"), leave=3)
    run = refused_run((quota, 10))
    said = why(run)
    assert said.situation is Situation.WAITING_FOR_QUOTA
    assert said.answer == (
        f"Run #{run.pk} is paused since 2026-06-01 12:00:00 UTC. It needs 10 calls of “fans”, which has 3 left:"
        " our own budget is used up."
    )
    assert said.waits_for == "10 of “fans”"
    assert next_in_words(said, NOW) == "It is expected to go on at 2026-06-02 00:00:00 UTC (in 12 h)."
    assert RowRef("quota", quota.pk) in said.rows


def test_times_are_said_by_the_clocks_of_the_schedule() -> None:
    schedule = make_schedule(timezone="Asia/Shanghai")
    said = why(refused_run((used_up(make_daily()), 1), schedule=schedule))
    assert "since 2026-06-01 20:00:00 Asia/Shanghai" in said.answer
    assert "at 2026-06-02 08:00:00 Asia/Shanghai (in 12 h)" in next_in_words(said, NOW)


def test_what_a_person_has_to_give_says_so_instead_of_a_time() -> None:
    said = why(refused_run((used_up(make_quota(key="tokens")), 5)))
    assert next_in_words(said, NOW) == "It goes on when “tokens” is topped up, or its limit raised."


def test_a_limit_of_zero_says_that_it_blocks() -> None:
    said = why(refused_run((make_daily(0, key="closed"), 5)))
    assert "It needs 5 of “closed”, which is blocked: its limit is 0." in said.answer
    assert said.next_step == "It goes on when somebody raises the limit of “closed”"


def test_a_rate_says_when_it_has_refilled() -> None:
    said = why(refused_run((used_up(make_rate(10, key="rate", resume_threshold=0)), 4)))
    assert "has 0 left: the rate allows no more just now." in said.answer
    assert said.next_at == NOW + 4 * SECOND


def test_what_it_is_part_of_is_named_where_that_refuses() -> None:
    parent = make_daily(100, key="company")
    quota = make_daily(100, key="team", parent=parent)
    used_up(parent, leave=2)
    said = why(refused_run((now_is(quota), 10)))
    assert "It needs 10 of “team”; that is a part of “company”, which has 2 left: our own budget" in said.answer


def test_each_of_several_quotas_is_named() -> None:
    first, second = used_up(make_daily(key="a")), used_up(make_quota(key="b"))
    said = why(refused_run((first, 1), (second, 2)))
    assert "It needs 1 of “a”, which has 0 left" in said.answer
    assert "It needs 2 of “b”, which has 0 left" in said.answer
    assert said.waits_for == "1 of “a”, 2 of “b”"
    assert said.next_at is None


def test_a_provider_that_said_until_when_is_believed_until_then() -> None:
    quota = make_quota(key="x")
    block(quota, NOW + HOUR)
    said = why(refused_run((quota, 1)))
    assert said.situation is Situation.WAITING_FOR_PROVIDER
    assert "which is refused by its provider until 2026-06-01 13:00:00 UTC." in said.answer
    assert said.next_at == NOW + HOUR


def test_a_provider_that_did_not_say_until_when_is_tried() -> None:
    quota = make_quota(key="x")
    with books_of(quota) as locked:
        locked.blocked_until, locked.blocked_without_reset = NOW + HOUR, True
    said = why(refused_run((quota, 1)))
    assert "who does not say until when; a run tries after 2026-06-01 13:00:00 UTC." in said.answer


def test_a_provider_whose_window_has_passed_is_tried_by_one_run_for_all() -> None:
    quota = make_quota(key="x", patience_seconds=0)
    block(quota, NOW + HOUR)
    first, second = refused_run((quota, 1)), refused_run((quota, 1), now=NOW + SECOND)
    later = NOW + 2 * HOUR
    with books_of(quota, now=later):
        pass
    assert "nobody has seen that answer again: one run at a time tries." in why(second, now=later).answer
    assert recovering.try_providers(now=later) == 1
    assert f"answer again: run #{first.pk} tries now." in why(second, now=later).answer
    assert "is refused" not in why(second, now=later).answer
    assert why(second, now=later).situation is Situation.WAITING_FOR_PROVIDER
    tries = "It tries whether the provider of “x” answers again, for all that wait for it"
    assert tries in why(first, now=later).answer
    assert running.begin(launched(first, now=later), WORKER, now=later)
    assert tries in why(first, now=later).answer
    assert why(first, now=later).situation is Situation.RUNNING


def test_what_is_back_but_not_enough_to_let_work_go_on_says_what_is_enough() -> None:
    quota = used_up(make_quota(100, key="x"))
    run = refused_run((quota, 1))
    charging.set_limit("x", 105, now=NOW)
    assert "which has 5 left; paused work goes on once that is more than 10." in why(run).answer


def test_what_has_to_last_first_says_until_when() -> None:
    quota = make_quota(100, key="x", stable_seconds=60)
    spend(quota, 50)
    spend(quota, 50, idempotency_key="unused")
    run = refused_run((quota, 1))
    charging.refund("x", "unused", now=NOW)
    assert "which has 50 left; paused work goes on if that lasts until 2026-06-01 12:01:00 UTC." in why(run).answer


def test_a_need_above_the_limit_says_that_no_waiting_helps() -> None:
    quota = used_up(make_daily(100, key="x"))
    run = refused_run((quota, 80))
    charging.set_limit("x", 50, now=NOW)
    said = why(run)
    assert said.situation is Situation.NEED_ABOVE_LIMIT
    assert "It needs 80 of “x”, which can never have that, as its limit is 50." in said.answer
    assert said.next_step == "Nothing resumes it: raise the limit of “x” to 80 or more, or cancel the run"
    assert said.next_at is None


def test_a_run_that_was_held_back_before_its_launch_says_so() -> None:
    quota = used_up(make_daily(key="x"))
    run = held_back_run(quota, quota_need=4)
    said = why(run)
    assert f"Run #{run.pk} is paused since 2026-06-01 12:00:00 UTC, without having been launched." in said.answer
    assert "It needs 4 of “x”, which has 0 left" in said.answer


def test_a_due_run_says_that_the_next_scan_pauses_it() -> None:
    quota = used_up(make_daily(key="x", default_step=7))
    said = why(make_run(quota=quota))
    assert said.situation is Situation.WAITING_FOR_QUOTA
    assert "not launched yet. It needs 7 of “x”, which has 0 left: our own budget is used up." in said.answer
    assert next_in_words(said, NOW) == "The next scan pauses it; it goes on when its quota is back."


@pytest.mark.parametrize("fields", [{"limit": 100}, {"limit": 100, "shadow": True}, {"limit": None}])
def test_a_due_run_whose_quota_has_enough_waits_for_no_quota(fields: dict[str, Any]) -> None:
    quota = make_daily(**fields)
    if quota.shadow:
        spend(quota, 100)
    assert why(make_run(quota=quota)).situation is Situation.DUE


def test_a_due_run_that_needs_more_than_the_limit_is_launched_and_fails() -> None:
    quota = used_up(make_daily(100))
    assert why(make_run(quota=quota, quota_need=101)).situation is Situation.DUE


# --- its turn --------------------------------------------------------------------------------------------------


def test_its_place_among_those_that_wait_follows_priority_and_age() -> None:
    quota = used_up(make_daily(100, key="x"))
    last = refused_run((quota, 1), now=NOW)
    refused_run((quota, 1), now=NOW, priority=5)
    assert "It is number 2 of the 2 that wait for “x”." in why(last).answer


def test_behind_others_it_is_expected_at_a_later_reset() -> None:
    quota = used_up(make_daily(100, key="x"))
    first = refused_run((quota, 90))
    second = refused_run((quota, 90), now=NOW + SECOND)
    assert why(first, now=NOW + MINUTE).next_at == MIDNIGHT
    assert why(second, now=NOW + MINUTE).next_at == MIDNIGHT + DAY


def test_what_would_fit_but_is_not_resumed_yet_names_the_next_look() -> None:
    quota = used_up(make_daily(100, key="x"))
    run = refused_run((quota, 10))
    charging.set_limit("x", 300, now=NOW)  # no edge is taken inside a test's transaction
    said = why(run)
    assert said.situation is Situation.WAITING_ITS_TURN
    assert "It needs 10 of “x”, which has 200 left." in said.answer
    assert said.next_step.startswith("It fits: the next scan resumes it")


def test_behind_an_older_run_of_its_key_it_names_that_one() -> None:
    schedule, quota = make_schedule(), used_up(make_daily())
    older = make_run(RunState.SUSPENDED, schedule=schedule)
    said = why(refused_run((quota, 1), schedule=schedule))
    assert said.situation is Situation.QUEUED
    assert f"Before it goes run #{older.pk}, which is suspended" in said.answer
    assert RowRef("run", older.pk) in said.rows


def test_a_younger_run_of_its_key_is_in_its_way_only_while_that_works() -> None:
    schedule, quota = make_schedule(), used_up(make_daily())
    run = refused_run((quota, 1), schedule=schedule)
    younger = make_run(schedule=schedule)
    assert why(run).situation is Situation.WAITING_FOR_QUOTA
    assert running.begin(launched(younger), WORKER, now=NOW)
    assert f"Before it goes run #{younger.pk}, which is running" in why(run).answer


# --- cost ------------------------------------------------------------------------------------------------------


def test_it_asks_as_often_among_many_that_wait_as_alone() -> None:
    now = database_now()
    quota = make_quota(now=now)
    spend(quota, 100, now=now)
    run = refused_run((quota, 1), now=now)
    with CaptureQueriesContext(connection) as alone:
        why(run, now=now)
    for _ in range(20):
        refused_run((quota, 1), now=now)
    with CaptureQueriesContext(connection) as among_many:
        why(run, now=now)
    assert len(among_many) == len(alone)

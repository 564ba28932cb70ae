"""Who goes on when only part fits: never more than there is, in turns, and nobody waits for ever."""

from datetime import datetime, timedelta

import pytest

from quotas.admission import Obstacle, Plan, Waiting, admit, spread
from tests.quotas.plans import MINUTE, NOW, PATIENCE, keys, planned, waiting

CALLS, TOKENS, ACCOUNT = 1, 2, 3


# --- the order ---------------------------------------------------------------------------------------------------


def test_a_higher_priority_goes_first() -> None:
    plan = planned(
        [waiting("low", {CALLS: 1}, priority=1, minutes=60), waiting("high", {CALLS: 1}, priority=2)], {CALLS: 1}
    )

    assert keys(plan) == ["high"]


def test_among_equals_the_least_recently_served_tenant_goes_first() -> None:
    queue = [waiting("a", {CALLS: 1}, minutes=3), waiting("b", {CALLS: 1}, minutes=2), waiting("new", {CALLS: 1})]
    served = {"a": NOW - MINUTE, "b": NOW - 2 * MINUTE}

    assert keys(planned(queue, {CALLS: 3}, served=served)) == ["new", "b", "a"]


def test_a_tenant_that_has_just_had_its_turn_goes_behind_the_one_served_last_before() -> None:
    queue = [waiting(f"new{n}", {CALLS: 1}, tenant="new", minutes=9) for n in range(2)]
    queue.append(waiting("known", {CALLS: 1}, minutes=1))

    assert keys(planned(queue, {CALLS: 3}, served={"known": NOW})) == ["new0", "known", "new1"]


def test_of_one_tenant_the_oldest_goes_first() -> None:
    queue = [waiting("younger", {CALLS: 1}, tenant="t"), waiting("older", {CALLS: 1}, tenant="t", minutes=2)]

    assert keys(planned(queue, {CALLS: 1})) == ["older"]


def test_whoever_waits_equally_long_goes_by_key() -> None:
    assert keys(planned([waiting("b", {CALLS: 1}), waiting("a", {CALLS: 1})], {CALLS: 1})) == ["a"]


def test_tenants_take_turns_within_one_walk() -> None:
    queue = [waiting(f"a{n}", {CALLS: 1}, tenant="a", minutes=9 - n) for n in range(3)]
    queue += [waiting(f"b{n}", {CALLS: 1}, tenant="b", minutes=5 - n) for n in range(3)]

    assert keys(planned(queue, {CALLS: 5})) == ["a0", "b0", "a1", "b1", "a2"]


def test_a_turn_in_a_higher_priority_counts_in_a_lower_one() -> None:
    queue = [
        waiting("a-high", {CALLS: 1}, tenant="a", priority=1),
        waiting("a-low", {CALLS: 1}, tenant="a", minutes=5),
        waiting("b-low", {CALLS: 1}, tenant="b"),
    ]

    assert keys(planned(queue, {CALLS: 2})) == ["a-high", "b-low"]


def test_who_does_not_fit_takes_no_turn_from_its_tenant() -> None:
    queue = [
        waiting("a-big", {CALLS: 9}, tenant="a", minutes=3),
        waiting("a-small", {CALLS: 1}, tenant="a", minutes=2),
        waiting("b-small", {CALLS: 1}, tenant="b"),
    ]

    assert keys(planned(queue, {CALLS: 2})) == ["a-small", "b-small"]


# --- what fits ---------------------------------------------------------------------------------------------------


def test_a_need_has_to_fit_in_all_its_quotas() -> None:
    queue = [waiting("both", {CALLS: 1, ACCOUNT: 5}), waiting("one", {CALLS: 1})]
    plan = planned(queue, {CALLS: 2, ACCOUNT: 3})

    assert keys(plan) == ["one"]
    assert plan.blocked_by == {"both": Obstacle(lacking={ACCOUNT: 2}, kept_for={})}
    assert plan.left == {CALLS: 1, ACCOUNT: 3}


def test_an_unlimited_quota_holds_up_nobody() -> None:
    plan = planned([waiting("a", {CALLS: 10**18, TOKENS: 1})], {CALLS: None, TOKENS: 1})

    assert keys(plan) == ["a"]
    assert plan.left == {CALLS: None, TOKENS: 0}


def test_what_is_owed_has_to_be_back_as_well() -> None:
    plan = planned([waiting("a", {CALLS: 2})], {CALLS: -3})

    assert plan.blocked_by["a"].lacking == {CALLS: 5}


def test_what_was_available_is_not_changed() -> None:
    available = {CALLS: 5}
    planned([waiting("a", {CALLS: 2})], available)

    assert available == {CALLS: 5}


def test_nobody_waits() -> None:
    assert planned([], {CALLS: 5}) == Plan([], {}, {CALLS: 5})


# --- patience ----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(("patience", "admitted"), [(PATIENCE, ["small"]), (None, ["small"]), (2 * MINUTE, [])])
def test_smaller_needs_pass_by_a_bigger_one_until_its_patience_is_over(
    patience: timedelta | None, admitted: list[str]
) -> None:
    queue = [waiting("big", {CALLS: 8}, minutes=5), waiting("small", {CALLS: 1})]

    assert keys(planned(queue, {CALLS: 7}, patience=patience)) == admitted


def test_at_exactly_its_patience_others_still_pass() -> None:
    queue = [waiting("big", {CALLS: 8}, minutes=5), waiting("small", {CALLS: 1})]

    assert keys(planned(queue, {CALLS: 7}, patience=5 * MINUTE)) == ["small"]


def test_only_the_quotas_that_it_lacks_are_kept_for_it() -> None:
    queue = [
        waiting("big", {CALLS: 8, TOKENS: 1}, minutes=30),
        waiting("calls", {CALLS: 1}),
        waiting("tokens", {TOKENS: 1}),
        waiting("both", {CALLS: 1, TOKENS: 1}),
    ]
    plan = planned(queue, {CALLS: 7, TOKENS: 5})

    assert keys(plan) == ["tokens"]
    assert plan.blocked_by == {
        "big": Obstacle(lacking={CALLS: 1}, kept_for={}),
        "calls": Obstacle(lacking={}, kept_for={CALLS: "big"}),
        "both": Obstacle(lacking={}, kept_for={CALLS: "big"}),
    }


def test_a_higher_priority_is_not_held_up_by_a_lower_one_that_waits_long() -> None:
    queue = [waiting("big", {CALLS: 8}, minutes=60), waiting("high", {CALLS: 1}, priority=1)]

    assert keys(planned(queue, {CALLS: 7})) == ["high"]


def test_whoever_waits_longest_goes_before_a_tenant_whose_turn_it_would_be() -> None:
    queue = [waiting("big", {CALLS: 8}, minutes=60), waiting("new", {CALLS: 1}, minutes=30)]

    assert keys(planned(queue, {CALLS: 8}, served={"big": NOW})) == ["big"]


def test_whoever_has_an_older_one_before_it_in_a_quota_waits_for_its_turn() -> None:
    queue = [
        waiting("calls", {CALLS: 1}, minutes=60),
        waiting("both", {CALLS: 1, TOKENS: 1}, minutes=50),
        waiting("tokens", {TOKENS: 1}, minutes=40),
        waiting("new", {TOKENS: 1}),
    ]

    assert keys(planned(queue, {CALLS: 0, TOKENS: 1}, served={"both": NOW, "tokens": NOW})) == ["new"]


# --- cases that broke others -------------------------------------------------------------------------------------


def test_b52_a_drained_quota_with_1000_waiting_does_not_hold_up_another_quota() -> None:
    drained = [waiting(f"a{n}", {CALLS: 1}, minutes=60) for n in range(1_000)]
    plan = planned([*drained, waiting("b", {TOKENS: 1})], {CALLS: 0, TOKENS: 1})

    assert keys(plan) == ["b"]
    assert len(plan.blocked_by) == 1_000


def test_b53_1000_blocked_of_high_priority_do_not_starve_one_that_can_run() -> None:
    blocked = [waiting(f"a{n}", {CALLS: 5, ACCOUNT: 5}, priority=9, minutes=60) for n in range(1_000)]
    plan = planned([*blocked, waiting("low", {TOKENS: 1, ACCOUNT: 1})], {CALLS: 4, TOKENS: 1, ACCOUNT: 100})

    assert keys(plan) == ["low"]


def test_b55_two_that_need_the_same_two_quotas_both_go_on() -> None:
    """Each lacks another quota, and both are kept; what was kept is decided anew in each walk, so no circle closes."""
    first = waiting("first", {CALLS: 5, TOKENS: 1}, minutes=60)
    second = waiting("second", {CALLS: 1, TOKENS: 5}, minutes=59)

    stuck = planned([first, second], {CALLS: 4, TOKENS: 4})
    assert set(stuck.blocked_by) == {"first", "second"}
    assert stuck.left == {CALLS: 4, TOKENS: 4}

    topped_up = planned([first, second], {CALLS: 6, TOKENS: 5})
    assert keys(topped_up) == ["first"]
    assert keys(planned([second], {**topped_up.left, TOKENS: 5})) == ["second"]


def test_b56_one_big_need_in_a_stream_of_small_ones_goes_on_after_its_patience() -> None:
    """A limit of 10 refills by one a minute; each minute somebody new comes who needs one."""
    big = waiting("big", {CALLS: 8}, minutes=0)
    served: dict[str, datetime] = {}
    queue, left = [big], 0

    for minute in range(1, 19):
        now = NOW + minute * MINUTE
        queue.append(Waiting(f"small{minute}", f"new{minute}", 0, now, {CALLS: 1}))
        plan = admit(queue, {CALLS: min(10, left + 1)}, now=now, served=served, patience=PATIENCE)
        served |= {one.tenant: now for one in plan.admitted}
        queue = [one for one in queue if one.key in plan.blocked_by]
        left = plan.left[CALLS] or 0
        if big in plan.admitted:
            break

    assert minute == 18  # ten of patience, in which ten small ones passed, and eight to gather what it needs
    assert [one.key for one in queue] == [f"small{number}" for number in range(11, 19)]


# --- spreading ---------------------------------------------------------------------------------------------------


def test_starts_are_spread_evenly_and_the_first_is_at_once() -> None:
    assert spread(4, 2) == [0, 0.5, 1, 1.5]
    assert spread(1, 2) == [0]
    assert spread(3, 0) == [0, 0, 0]
    assert spread(0, 2) == []

"""Whatever the queue: nobody gets more than there is, and nobody is passed by for ever."""

import random
from collections import Counter
from datetime import datetime, timedelta

from hypothesis import given, settings
from hypothesis import strategies as st

from quotas.admission import Waiting, admit
from tests.quotas.plans import MINUTE, NOW, PATIENCE, keys, planned, waiting

CALLS, TOKENS = 1, 2


quotas = st.integers(1, 4)
queues = st.lists(
    st.builds(
        Waiting,
        key=st.uuids().map(str),
        tenant=st.sampled_from("abcde"),
        priority=st.integers(0, 2),
        since=st.integers(0, 30).map(lambda minutes: NOW - minutes * MINUTE),
        needs=st.dictionaries(quotas, st.integers(1, 9), min_size=1),
    ),
    max_size=30,
    unique_by=lambda one: one.key,
)
availabilities = st.fixed_dictionaries({quota: st.none() | st.integers(-5, 40) for quota in range(1, 5)})
servings = st.dictionaries(
    st.sampled_from("abcde"), st.integers(0, 30).map(lambda minutes: NOW - minutes * MINUTE), max_size=5
)
patiences = st.none() | st.just(PATIENCE)


@given(queues, availabilities, servings, patiences)
def test_nothing_is_admitted_beyond_what_is_available(
    queue: list[Waiting],
    available: dict[int, int | None],
    served: dict[str, datetime],
    patience: timedelta | None,
) -> None:
    plan = planned(queue, available, served=served, patience=patience)

    spent: Counter[int] = Counter()
    for one in plan.admitted:
        spent.update(one.needs)
    assert all(units <= available[quota] for quota, units in spent.items() if available[quota] is not None)
    assert plan.left == {quota: None if units is None else units - spent[quota] for quota, units in available.items()}


@given(queues, availabilities, servings, patiences)
def test_each_is_admitted_once_or_told_why_not(
    queue: list[Waiting],
    available: dict[int, int | None],
    served: dict[str, datetime],
    patience: timedelta | None,
) -> None:
    plan = planned(queue, available, served=served, patience=patience)

    assert sorted([*keys(plan), *plan.blocked_by]) == sorted(one.key for one in queue)
    assert all(obstacle.lacking or obstacle.kept_for for obstacle in plan.blocked_by.values())


@given(queues, availabilities, servings, patiences, st.randoms(use_true_random=False))
def test_the_order_in_which_the_waiting_are_given_changes_nothing(
    queue: list[Waiting],
    available: dict[int, int | None],
    served: dict[str, datetime],
    patience: timedelta | None,
    shuffler: random.Random,
) -> None:
    plan = planned(queue, available, served=served, patience=patience)

    shuffler.shuffle(queue)
    assert planned(queue, available, served=served, patience=patience) == plan


@given(queues, availabilities, servings)
def test_without_patience_whoever_fits_in_what_is_left_was_admitted(
    queue: list[Waiting], available: dict[int, int | None], served: dict[str, datetime]
) -> None:
    plan = planned(queue, available, served=served, patience=None)

    for one in queue:
        fits = all(left is None or units <= left for quota, units in one.needs.items() for left in [plan.left[quota]])
        assert one in plan.admitted or not fits


@given(st.lists(st.integers(30, 90), min_size=10, max_size=10), st.randoms(use_true_random=False), patiences)
def test_turns_are_fair_with_room_for_a_fifth(
    sizes: list[int], shuffler: random.Random, patience: timedelta | None
) -> None:
    """Jain's index over ten tenants, whoever of them waits with more or for longer."""
    queue = [
        waiting(f"{tenant}.{number}", {CALLS: 1}, tenant=str(tenant), minutes=shuffler.randrange(60))
        for tenant, size in enumerate(sizes)
        for number in range(size)
    ]
    plan = planned(queue, {CALLS: sum(sizes) // 5}, patience=patience)

    shares = Counter(one.tenant for one in plan.admitted)
    assert len(plan.admitted) == sum(sizes) // 5
    assert max(shares.values()) - min(shares[str(tenant)] for tenant in range(10)) <= 1
    assert sum(shares.values()) ** 2 / (10 * sum(share**2 for share in shares.values())) > 0.98


@settings(max_examples=60)
@given(
    need=st.integers(2, 10),
    refill=st.integers(1, 3),
    arrivals=st.lists(st.lists(st.sampled_from("abcd"), max_size=5), min_size=40, max_size=40),
)
def test_nobody_starves_whose_patience_is_over(need: int, refill: int, arrivals: list[list[str]]) -> None:
    """A stream of small needs, some of new tenants each minute, while the big one's tenant is busy with tokens."""
    big = Waiting("big", "a", 0, NOW, {CALLS: need})
    queue, left, served = [big], 0, {"a": NOW}

    for minute, tenants in enumerate(arrivals, start=1):
        now = NOW + minute * MINUTE
        queue.append(Waiting(f"tokens{minute}", "a", 0, now, {TOKENS: 1}))
        queue += [Waiting(f"{minute}.{n}", tenant, 0, now, {CALLS: 1}) for n, tenant in enumerate(tenants)]
        queue.append(Waiting(f"{minute}.new", f"new{minute}", 0, now, {CALLS: 1}))
        plan = admit(queue, {CALLS: min(10, left + refill), TOKENS: None}, now=now, served=served, patience=PATIENCE)
        served |= {one.tenant: now for one in plan.admitted}
        queue = [one for one in queue if one.key in plan.blocked_by]
        left = plan.left[CALLS] or 0
        if big in plan.admitted:
            break

    assert big in plan.admitted
    assert now - big.since <= PATIENCE + MINUTE * -(-need // refill)

"""A job goes on where it was, and shows how many of its items are done."""

import uuid
from collections.abc import Callable, Iterator
from datetime import date
from typing import Any

import pytest

from scheduler.identity import SharedSignals
from scheduler.jobs.interrupts import LeaseLost
from scheduler.models import TaskRun
from tests.scheduler.executions import in_job, running

pytestmark = pytest.mark.django_db


# --- resume -------------------------------------------------------------------------------------------------------


def resumed(items: Any, reached: Any, of: Callable[[Any], Any] | None = None) -> list[Any]:
    """Return the items that are left for a job that checkpointed `reached`."""
    return list(in_job(running(progress={"at": reached})).resume(items, key="at", of=of))


def test_a_first_attempt_gets_all_items() -> None:
    assert list(in_job(running()).resume([1, 2, 3], key="at")) == [1, 2, 3]
    assert list(in_job(running(progress={"other": 2})).resume([1, 2, 3], key="at")) == [1, 2, 3]


@pytest.mark.parametrize(
    ("items", "reached", "left"),
    [
        ([1, 2, 3], 1, [2, 3]),
        ([1, 2, 3], 3, []),
        ([3, 1, 2], 1, [2]),  # the order of the items counts, not that of their values
        (["b", "a", "c"], "a", ["c"]),
        ([date(2026, 6, 1), date(2026, 6, 2)], "2026-06-01", [date(2026, 6, 2)]),
        ([uuid.UUID(int=1), uuid.UUID(int=2)], str(uuid.UUID(int=1)), [uuid.UUID(int=2)]),
        ([(1, "a"), (1, "b")], [1, "a"], [(1, "b")]),
        ([None, 1], None, [1]),
        ([], 1, []),
    ],
)
def test_the_items_after_the_checkpointed_one_are_left(items: list[Any], reached: Any, left: list[Any]) -> None:
    assert resumed(items, reached) == left
    assert resumed(iter(items), reached) == left


@pytest.mark.parametrize(
    ("items", "reached", "left"),
    [
        ([1, 3, 4], 2, [3, 4]),
        ([1, 3], 4, []),
        ([3, 4], 2, [3, 4]),
        ([5, 3, 1], 4, [3, 1]),  # falling: what lies behind 4 is smaller
        ([5, 3, 1], 0, []),
        ([5, 3, 1], 6, [5, 3, 1]),
        (["a", "c"], "b", ["c"]),
        ([date(2026, 6, 1), date(2026, 6, 3)], "2026-06-02", [date(2026, 6, 3)]),
        ([3, 1, 2], 9, [3, 1, 2]),  # no order to go by: rather twice than never
        ([3, 1, 2], 0, [3, 1, 2]),
        ([1, "a"], 2, [1, "a"]),
        ([{"k": 1}, {"k": 2}], {"k": 3}, [{"k": 1}, {"k": 2}]),
        ([1, 2], "x", [1, 2]),
        ([1, 2], None, [1, 2]),
    ],
)
def test_when_the_checkpointed_item_is_gone_what_lies_behind_its_place_is_left_and_nothing_is_passed_over(
    items: list[Any], reached: Any, left: list[Any]
) -> None:
    run = running(progress={"at": reached})
    context = in_job(run)
    assert list(context.resume(items, key="at")) == left
    assert f"The checkpointed at {reached!r} is not among the items any more." in context.output.text


class Account:
    """Something with a primary key."""

    def __init__(self, pk: int) -> None:
        self.pk = pk


def test_an_item_is_known_by_its_key_or_by_what_the_job_says() -> None:
    accounts = [Account(5), Account(3), Account(9)]
    assert resumed(accounts, 3) == [accounts[2]]
    assert resumed(["a.csv", "b.csv"], "a", of=lambda name: name[0]) == ["b.csv"]
    assert resumed(TaskRun.objects.none(), 3) == []


def test_a_job_that_resumes_within_one_attempt_finds_what_it_checkpointed_before() -> None:
    days = [date(2026, 6, day) for day in (1, 2, 3)]
    context = in_job(running())
    for day in context.resume(days, key="day"):
        context.checkpoint(day=day)
        if day.day == 2:
            break
    assert list(context.resume(days, key="day")) == days[2:]


def test_only_as_many_items_are_taken_as_the_job_asks_for() -> None:
    taken: list[int] = []

    def items() -> Iterator[int]:
        for number in range(5):
            taken.append(number)
            yield number

    following = in_job(running(progress={"at": 1})).resume(items(), key="at")
    assert next(following) == 2
    assert taken == [0, 1, 2]


@pytest.mark.parametrize("walk", ["resume", "track"])
def test_a_worker_whose_leases_ran_out_takes_no_further_item(walk: str) -> None:
    run, signals = running(), SharedSignals()
    context = in_job(run, signals)
    items = context.resume([1, 2], key="at") if walk == "resume" else context.track([1, 2])
    assert next(items) == 1
    signals.leases_hold_until(float("-inf"))
    with pytest.raises(LeaseLost):
        next(items)


# --- track --------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("items", "total", "shown"),
    [
        ([1, 2, 3], None, (3, 3)),
        (iter([1, 2, 3]), None, (3, None)),
        (iter([1, 2, 3]), 10, (3, 10)),
        ([], None, (0, 0)),
        (iter([]), None, (0, None)),
    ],
)
def test_tracking_shows_how_many_are_done_and_never_more(items: Any, total: Any, shown: tuple[Any, Any]) -> None:
    run = running(progress={"page": 7})
    list(in_job(run).track(items, total))
    run.refresh_from_db()
    assert (run.progress_done, run.progress_total) == shown
    assert run.progress == {"page": 7}


def test_tracking_writes_at_most_once_a_second(clock: list[float]) -> None:
    run = running()
    shown: list[int | None] = []
    for _ in in_job(run).track(range(7)):
        run.refresh_from_db()
        shown.append(run.progress_done)
        clock[0] += 0.4
    assert shown == [0, 0, 0, 3, 3, 3, 6]

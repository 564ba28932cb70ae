"""What all that limit share: processes that wait for their turn together, and how close they came to the limit.

Runs in the peers' Python and in ours: nothing here is ours.
"""

import json
import multiprocessing
import sys
import time
from bisect import bisect_left
from collections.abc import Callable, Iterator, Sequence
from dataclasses import asdict, dataclass
from multiprocessing.synchronize import Barrier
from typing import Any

import redis

PROCESSES = 4
# The first second is not judged: some let a whole window pass at once.
SETTLING_SECONDS = 1.0
# What the first call may be late, for the judged seconds are counted from it.
SLOW_START_SECONDS = 0.5

Wait = Callable[[], object]

ready: Barrier


@dataclass(frozen=True)
class Task:
    """Limit to so many calls a second, for so many seconds, in that Redis."""

    url: str
    name: str
    rate: int
    seconds: float


@dataclass(frozen=True)
class Outcome:
    """How close the processes came to the limit together.

    Attributes:
        error_percent: by how much the rate missed the limit, up or down.
        most: calls in any trailing second, the first ones included.
        round_trips: to Redis, for each call.
    """

    error_percent: float
    most: int
    round_trips: float


def measure(prepare: Callable[[Task], Wait], task: Task) -> Outcome:
    """Let four processes wait for their turns, and return how it went.

    Args:
        prepare: makes, in each process, the function that waits for one turn.
    """
    spawning = multiprocessing.get_context("spawn")
    barrier = spawning.Barrier(PROCESSES)
    with spawning.Pool(PROCESSES, _take_part, (barrier,)) as pool:
        parts = pool.starmap(_wait_in_turn, [(prepare, task)] * PROCESSES, chunksize=1)
    called = sorted(instant for instants, _ in parts for instant in instants)
    return Outcome(
        error_percent=abs(_rate(called, task.seconds) / task.rate - 1) * 100,
        most=max(_in_trailing_seconds(called)),
        round_trips=sum(round_trips for _, round_trips in parts) / len(called),
    )


def main(prepare: Callable[[Task], Wait]) -> None:
    """Measure a peer with the task of the command line and print the outcome."""
    print(json.dumps(asdict(measure(prepare, Task(**json.loads(sys.argv[1]))))))


def _take_part(barrier: Barrier) -> None:
    global ready  # noqa: PLW0603 - a pool has no other way to hand a barrier over
    ready = barrier


def _wait_in_turn(prepare: Callable[[Task], Wait], task: Task) -> tuple[list[float], int]:
    """Return when each turn came, on a clock that all processes share, and how often Redis was asked."""
    wait = prepare(task)
    wait()  # connects
    round_trips = _count_round_trips()
    ready.wait()
    ends = time.monotonic() + SETTLING_SECONDS + task.seconds + SLOW_START_SECONDS
    called = []
    while time.monotonic() < ends:
        wait()
        called.append(time.monotonic())
    return called, round_trips()


def _count_round_trips() -> Callable[[], int]:
    """Count what is sent from now on; a pipeline or a transaction counts once."""
    count = 0
    send = redis.Connection.send_packed_command

    def counted(*args: Any, **options: Any) -> None:
        nonlocal count
        count += 1
        send(*args, **options)

    redis.Connection.send_packed_command = counted  # type: ignore[method-assign]
    return lambda: count


def _rate(called: Sequence[float], seconds: float) -> float:
    """Return the calls a second in whole seconds after the first one."""
    starts = called[0] + SETTLING_SECONDS
    whole = int(seconds)
    return (bisect_left(called, starts + whole) - bisect_left(called, starts)) / whole


def _in_trailing_seconds(called: Sequence[float]) -> Iterator[int]:
    """Return for each call how many there were in the second that it ends."""
    first = 0
    for number, instant in enumerate(called):
        while called[first] <= instant - 1:
            first += 1
        yield number - first + 1

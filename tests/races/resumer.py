"""A process that resumes, once the test opens the gate: `python -m tests.races.resumer WAY [RUN TIMES]`."""

import os
import sys
from collections.abc import Callable

import django

GATE = 4711  # an advisory lock that the test holds until all processes have come to it


def edge(run_id: int) -> object:
    """Take the edges, as the scan does."""
    from project.kit.clock import database_now
    from scheduler import resuming

    return resuming.take_edges(now=database_now())


def poll(run_id: int) -> object:
    """Resume what the fallback poll finds."""
    from project.kit.clock import database_now
    from scheduler import recovering

    return recovering.poll(clock=database_now)


def person(run_id: int) -> object:
    """Resume the run by hand."""
    return _by_hand(run_id, "manual")


def api(run_id: int) -> object:
    """Resume the run by the API."""
    return _by_hand(run_id, "api")


def scan(run_id: int) -> object:
    """Do what the two scans do, but for the launch."""
    from project.kit.clock import database_now
    from quotas import scans
    from scheduler import recovering

    scans.evaluate_due(now=database_now())
    return recovering.resume_by_events(now=database_now()), recovering.poll(clock=database_now)


WAYS: dict[str, Callable[[int], object]] = {"edge": edge, "poll": poll, "person": person, "api": api, "scan": scan}


def _by_hand(run_id: int, trigger: str) -> object:
    from project.kit.clock import database_now
    from scheduler import operations
    from scheduler.models import TaskRun
    from scheduler.states import EventTrigger

    run = TaskRun.objects.get(pk=run_id)
    return operations.resume(run, now=database_now(), actor="ann", trigger=EventTrigger(trigger))


def _pass_the_gate() -> None:
    from django.db import connection

    with connection.cursor() as cursor:
        cursor.execute("SELECT pg_advisory_lock_shared(%s)", [GATE])


def main(way: str, run_id: int = 0, times: int = sys.maxsize) -> None:
    """Resume so many times, and say what came of each."""
    from scheduler import resuming

    resuming.BATCH = int(os.environ.get("RESUME_BATCH", resuming.BATCH))
    _pass_the_gate()
    for _ in range(times):
        sys.stdout.write(f"{WAYS[way](run_id)}\n")
        sys.stdout.flush()


if __name__ == "__main__":
    django.setup()
    main(sys.argv[1], *map(int, sys.argv[2:]))

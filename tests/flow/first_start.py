"""Proves the first command of the README in a fresh clone: from nothing to a login and a finished run of each
built-in job, and back to nothing.

    python -m tests.flow.first_start CLONE
"""

import signal
import sys
import time
from pathlib import Path

import psutil
import psycopg

from project.processes import marked
from project.tryout import read_environment
from tests.starting import Start, login

BUILT_IN = {"command", "management", "http", "celery"}
START_SECONDS = 180  # with downloads; the README promises it
RUN_SECONDS = 180
STOP_SECONDS = 15


def main(clone: Path) -> None:
    """Start, look, and stop; an AssertionError says what was not as promised."""
    began = time.monotonic()
    start = Start(["bin/up"], clone, clone.parent / "first-start.log")
    try:
        check_that_it_works(start, clone, began)
        check_that_it_stops(start, clone)
    finally:
        start.process.kill()  # after a failure; its servers and processes end with it
        start.process.wait()


def check_that_it_works(start: Start, clone: Path, began: float) -> None:
    """Check the login, and that a schedule of each built-in job fires and its run is done."""
    password = start.password(START_SECONDS)
    tell(f"the admin is served {time.monotonic() - began:.0f} s after nothing was there")
    assert "/admin/logout/" in login(start.port, password).text
    tell("the printed password opens it")
    database = read_environment(clone / ".tideline" / "env")["DATABASE_URL"]
    start.waits_for(lambda: done_jobs(database) >= BUILT_IN, RUN_SECONDS)
    tell(f"a run of each built-in job is done: {', '.join(sorted(BUILT_IN))}")


def check_that_it_stops(start: Start, clone: Path) -> None:
    """Check that Ctrl-C ends it cleanly and leaves no process behind."""
    everything = start.everything()
    began = time.monotonic()
    start.process.send_signal(signal.SIGINT)
    status = start.process.wait(STOP_SECONDS)
    assert status == 0, f"exit status {status}\n{start.said()}"
    left = [*psutil.wait_procs(everything, 2)[1], *marked(str(clone / ".tideline"))]
    assert left == [], f"left behind: {left}"
    tell(f"Ctrl-C ended all {len(everything)} processes in {time.monotonic() - began:.0f} s")


def done_jobs(database: str) -> set[str]:
    """Return the jobs that a schedule has fired and whose run is done."""
    with psycopg.connect(database) as connection:
        rows = connection.execute(
            "SELECT DISTINCT job FROM scheduler_taskrun WHERE state = 'done' AND fire_id IS NOT NULL"
        )
        return {job for (job,) in rows}


def tell(what: str) -> None:
    """Say how far it is."""
    print(f"first start: {what}", flush=True)


if __name__ == "__main__":
    main(Path(sys.argv[1]).resolve())

"""Proves the first command of the README in a fresh clone: from nothing to a login, a finished run of each built-in job
and an answered check of each carrier account, and back to nothing; then once more, with all that is there already.

    python -m tests.flow.first_start CLONE
"""

import signal
import sys
import time
from datetime import datetime
from pathlib import Path
from urllib.parse import urlsplit

import psutil
import psycopg

from project.processes import marked
from project.tryout import read_environment
from tests.starting import Start, login

BUILT_IN = {"command", "management", "http", "celery"}
START_SECONDS = 180  # with downloads; the README promises it
RUN_SECONDS = 180
STOP_SECONDS = 20  # a runner takes up to ten, and the servers stop after it
POLL_SECONDS = 60  # the first cards are asked about within the first minute; see project/tryout_fleet.py
ACCOUNTS = 4


def main(clone: Path) -> None:
    """Start, look, and stop, twice; an AssertionError says what was not as promised."""
    for check, log in ((check_that_it_works, "first-start.log"), (check_that_it_goes_on, "second-start.log")):
        began = time.monotonic()
        start = Start(["bin/up"], clone, clone.parent / log)
        try:
            check(start, clone, began)
            check_that_it_stops(start, clone)
        finally:
            start.process.kill()  # after a failure; its servers and processes end with it
            start.process.wait()


def check_that_it_works(start: Start, clone: Path, began: float) -> None:
    """Check the login, that a schedule of each built-in job fires and its run is done, and that cards are polled."""
    password = start.password(START_SECONDS)
    tell(f"the admin is served {time.monotonic() - began:.0f} s after nothing was there")
    assert "/admin/logout/" in login(start.port, password).text
    tell("the printed password opens it")
    database = environment(clone)["DATABASE_URL"]
    start.waits_for(lambda: len(answering_accounts(database)) == ACCOUNTS, POLL_SECONDS)
    tell(f"{ACCOUNTS} carrier accounts have answered about cards")
    start.waits_for(lambda: done_jobs(database) >= BUILT_IN, RUN_SECONDS)
    tell(f"a run of each built-in job is done: {', '.join(sorted(BUILT_IN))}")


def check_that_it_goes_on(start: Start, clone: Path, began: float) -> None:
    """Check that the next start keeps what is there, and that the accounts follow their carrier to its new port."""
    start.waits_for_words("the password was printed at the first start", START_SECONDS)
    tell(f"the next start serves the admin after {time.monotonic() - began:.0f} s")
    told = environment(clone)
    assert set(carrier_addresses(told["DATABASE_URL"])) == {urlsplit(told["TIDELINE_CARRIER_URL"]).netloc}
    before = answered(told["DATABASE_URL"])
    start.waits_for(lambda: answered(told["DATABASE_URL"]) > before, POLL_SECONDS)
    tell("the carrier answers at its new port")


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


def answering_accounts(database: str) -> set[int]:
    """Return the carrier accounts that have answered about a card."""
    with psycopg.connect(database) as connection:
        rows = connection.execute(
            "SELECT DISTINCT account_id FROM polling_card JOIN polling_cardcheck ON card_id = polling_card.id"
            " WHERE succeeded_at IS NOT NULL"
        )
        return {account for (account,) in rows}


def answered(database: str) -> datetime:
    """Return when a carrier has answered last."""
    with psycopg.connect(database) as connection:
        row = connection.execute("SELECT max(succeeded_at) FROM polling_cardcheck").fetchone()
        assert row is not None
        return row[0]


def carrier_addresses(database: str) -> list[str]:
    """Return where the carrier accounts lead, as host and port."""
    with psycopg.connect(database) as connection:
        rows = connection.execute("SELECT settings ->> 'base_url' FROM polling_carrieraccount")
        return [urlsplit(address).netloc for (address,) in rows]


def environment(clone: Path) -> dict[str, str]:
    """Return what the try-out's processes find in their environment this time."""
    return read_environment(clone / ".tideline" / "env")


def tell(what: str) -> None:
    """Say how far it is."""
    print(f"first start: {what}", flush=True)


if __name__ == "__main__":
    main(Path(sys.argv[1]).resolve())

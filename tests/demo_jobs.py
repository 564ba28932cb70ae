"""Jobs for the tests, loaded by TIDELINE_JOBS. Each leaves a mark in a file for every side effect, with its run, item,
attempt, token and data day, so that what was done can be counted afterwards.
"""

import hashlib
import json
import os
import time
from contextlib import suppress
from typing import Any, NoReturn

from django.db import connection
from django.db.transaction import atomic
from pydantic import BaseModel

from scheduler.jobs import RunContext, job

# The most that a job waits for what a test is to do to it.
PATIENCE_SECONDS = 120


class Marks(BaseModel):
    """Where the marks go."""

    file: str


class Items(Marks):
    """How many items, how long each takes, and at which one the first attempt waits for what is done to it."""

    items: int = 10
    seconds: float = 0.0
    hold_at: int | None = None


class Lasting(Marks):
    """How long it takes."""

    seconds: float


def mark(run: RunContext, **what: Any) -> None:
    """Append a line to the file of the marks: whole or not at all, whoever else appends."""
    line = {
        "run": run.run_id,
        "attempt": run.attempt,
        "token": run._token,
        "stat_date": str(run.stat_date),
        "pid": os.getpid(),
        **what,
    }
    file = os.open(run.params.file, os.O_WRONLY | os.O_CREAT | os.O_APPEND)
    os.write(file, json.dumps(line).encode() + b"\n")
    os.close(file)


@job("test.items", params=Items)
def items(run: RunContext) -> dict[str, Any]:
    """Take the items one by one, each with a side effect and then a checkpoint."""
    for item in run.resume(range(1, run.params.items + 1), key="item"):
        if item == run.params.hold_at and run.attempt == 1:
            hold(run)
        mark(run, item=item)
        time.sleep(run.params.seconds)
        run.log(f"item {item}")
        run.checkpoint(item=item, done=item, total=run.params.items)
        mark(run, saved=item)
    return {"items": run.params.items}


@job("test.one", params=Marks, short=True)
def one(run: RunContext) -> None:
    """Leave one mark."""
    mark(run, item=1)


@job("test.single", params=Marks)
def single(run: RunContext) -> None:
    """Leave one mark, and be long enough for a hint of its own."""
    mark(run, item=1)


@job("test.busy", params=Lasting)
def busy(run: RunContext) -> None:
    """Keep the interpreter busy in one call of C that lets no other thread in."""
    mark(run, item="begin")
    rounds = 100_000
    began = time.monotonic()
    hashlib.pbkdf2_hmac("sha256", b"tideline", b"salt", rounds)
    rounds = int(rounds * run.params.seconds / (time.monotonic() - began))
    hashlib.pbkdf2_hmac("sha256", b"tideline", b"salt", rounds)
    mark(run, item="end")


@job("test.stubborn", params=Lasting)
def stubborn(run: RunContext) -> None:
    """Hang, and heed neither a timeout nor a stop."""
    mark(run, item="begin")
    end = time.monotonic() + run.params.seconds
    while time.monotonic() < end:
        with suppress(BaseException):
            time.sleep(1)
    mark(run, item="end")


@job("test.graceful", params=Lasting)
def graceful(run: RunContext) -> None:
    """Ask for no checkpoint, but end of its own accord soon after it is told to stop."""
    mark(run, item="begin")
    wait_until_stopping(run)
    time.sleep(run.params.seconds)
    mark(run, item="end")


@job("test.exits", params=Marks)
def exits(run: RunContext) -> NoReturn:
    """Take the process along, as a segmentation fault or the kernel's out-of-memory killer would."""
    mark(run, item="begin")
    os._exit(3)


@job("test.transaction", params=Lasting)
def transaction(run: RunContext) -> None:
    """Hold the run's own row for long: checkpoint, and stay in the transaction."""
    with atomic():
        mark(run, item="begin")
        run.checkpoint(item=1)
        time.sleep(run.params.seconds)
    mark(run, item="end")


@job("test.statement", params=Lasting)
def statement(run: RunContext) -> None:
    """Wait for the database to answer."""
    mark(run, item="begin")
    with connection.cursor() as cursor:
        cursor.execute("SELECT pg_sleep(%s)", [run.params.seconds])
    mark(run, item="end")


@job("test.returns", params=Marks)
def returns(run: RunContext) -> object:
    """Return what no database can keep."""
    return {"ratio": float("nan"), "text": "\x00", "object": run}


@job("test.raises", params=Marks)
def raises(run: RunContext) -> NoReturn:
    """Fail."""
    mark(run, item="begin")
    raise ValueError("the upstream answered with a rhyme")


@job("test.defers", params=Lasting)
def defers(run: RunContext) -> None:
    """Put itself off once."""
    mark(run, item=run.attempt)
    if run.attempt == 1:
        run.defer(seconds=run.params.seconds, reason="the upstream is asleep")


def hold(run: RunContext) -> None:
    """Say that it waits, and wait for what the test does to the process."""
    mark(run, holds=True)
    deadline = time.monotonic() + PATIENCE_SECONDS
    while time.monotonic() < deadline:
        time.sleep(0.05)
    raise TimeoutError("Nothing was done to this process.")


def wait_until_stopping(run: RunContext) -> None:
    """Wait for the worker to be told to stop."""
    deadline = time.monotonic() + PATIENCE_SECONDS
    while not run.stopping:
        if time.monotonic() > deadline:
            raise TimeoutError("Nobody stopped this worker.")
        time.sleep(0.05)

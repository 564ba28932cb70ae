"""Races by force: a rival holds the row, or acts exactly between another's read and its write."""

import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import wraps
from pkgutil import resolve_name
from typing import Any
from unittest import mock

from django.db import connection, connections, models, transaction

PATIENCE_SECONDS = 20.0


@contextmanager
def winner_holding(row: models.Model, *, then: Callable[[], object] | None = None) -> Iterator[threading.Event]:
    """Hold the row's lock in a second connection while the block runs.

    Args:
        then: what the winner does with the row before it commits.

    Yields:
        an event; setting it lets the winner act and commit before the block ends.
    """
    holds, release = threading.Event(), threading.Event()

    def hold() -> None:
        with transaction.atomic():
            type(row)._default_manager.select_for_update().get(pk=row.pk)
            holds.set()
            release.wait(PATIENCE_SECONDS)
            if then is not None:
                then()

    with in_the_background(hold) as winner:
        assert holds.wait(PATIENCE_SECONDS), "the winner did not get the row"
        try:
            yield release
        finally:
            release.set()
            winner.result()


@contextmanager
def run_before(target: str, rival: Callable[[], object], *, elsewhere: bool = True) -> Iterator[None]:
    """Let the rival act once, right before the named function is called for the first time in the block.

    Args:
        target: a dotted name, `module.function` or `module.Class.method`.
        elsewhere: in a connection of its own, as another process would; otherwise amid the caller's transaction.
    """
    with _hooked(target, rival, elsewhere, before=True):
        yield


@contextmanager
def run_after(target: str, rival: Callable[[], object], *, elsewhere: bool = True) -> Iterator[None]:
    """Let the rival act once, right after the named function has returned for the first time in the block."""
    with _hooked(target, rival, elsewhere, before=False):
        yield


@contextmanager
def _hooked(target: str, rival: Callable[[], object], elsewhere: bool, *, before: bool) -> Iterator[None]:
    path, name = target.rsplit(".", 1)
    owner = resolve_name(path)
    original = getattr(owner, name)
    acted: list[bool] = []

    def act() -> None:
        if not acted:
            acted.append(True)
            do_elsewhere(rival) if elsewhere else rival()

    @wraps(original)
    def hooked(*args: Any, **kwargs: Any) -> Any:
        if before:
            act()
        try:
            return original(*args, **kwargs)
        finally:
            if not before:
                act()

    with mock.patch.object(owner, name, hooked):
        yield
    assert acted, f"{target} was not called, so the rival never acted"


class Background:
    """A function that runs in a thread, with a database connection of its own."""

    def __init__(self, function: Callable[[], Any]) -> None:
        self._function = function
        self._result: Any = None
        self._error: BaseException | None = None
        self.pid: int | None = None  # of its database session
        self._has_pid = threading.Event()
        self._thread = threading.Thread(target=self._run, daemon=True)
        self._thread.start()

    def _run(self) -> None:
        try:
            with connection.cursor() as cursor:
                cursor.execute("SELECT pg_backend_pid()")
                (self.pid,) = cursor.fetchone()
            self._has_pid.set()
            self._result = self._function()
        except BaseException as error:
            self._error = error
        finally:
            self._has_pid.set()
            connections.close_all()

    def result(self) -> Any:
        """Wait for the function and return its result, or raise its error."""
        self._thread.join(PATIENCE_SECONDS)
        assert not self._thread.is_alive(), "the rival does not come to an end"
        if self._error is not None:
            raise self._error
        return self._result

    def wait_until_it_waits(self) -> None:
        """Return when the function waits for a lock in the database.

        Raises:
            AssertionError: it has ended without waiting.
        """
        self._has_pid.wait(PATIENCE_SECONDS)
        deadline = time.monotonic() + PATIENCE_SECONDS
        while not self._waits():
            assert self._thread.is_alive(), "it ended without waiting for the lock"
            assert time.monotonic() < deadline, "it does not wait for a lock"

    def _waits(self) -> bool:
        with connection.cursor() as cursor:
            cursor.execute("SELECT cardinality(pg_blocking_pids(%s)) > 0", [self.pid])
            (waits,) = cursor.fetchone()
            return bool(waits)


@contextmanager
def in_the_background(function: Callable[[], Any]) -> Iterator[Background]:
    """Run a function in a thread with its own connection while the block runs, and wait for its end."""
    background = Background(function)
    try:
        yield background
    finally:
        background.result()


def do_elsewhere(function: Callable[[], Any]) -> Any:
    """Run a function in a connection of its own, wait for its end, and return its result."""
    return Background(function).result()


def all_at_once(*functions: Callable[[], Any]) -> list[Any]:
    """Run the functions at the same time, each in a connection of its own, and return their results."""
    gate = threading.Barrier(len(functions))

    def started_together(function: Callable[[], Any]) -> Callable[[], Any]:
        def run() -> Any:
            gate.wait(PATIENCE_SECONDS)
            return function()

        return run

    rivals = [Background(started_together(function)) for function in functions]
    return [rival.result() for rival in rivals]

"""How a Celery worker becomes one of Tideline's: what its main process looks after, and what its children are told.

Wired to Celery's signals by project/celery.py once the apps are loaded.
"""

import logging
import os
import signal
import threading
from collections.abc import Callable
from types import FrameType
from typing import Any

import psutil
from celery import Task, current_app, signals
from celery.states import FAILURE
from django.db import close_old_connections, connection

from alerts import tasks as alert_tasks
from project import metronome, scans, watching
from project.beat import SCANS
from project.kit.clock import database_now
from project.kit.collecting import collect_rarely
from scheduler.identity import become_worker, this_worker
from scheduler.keeping import LeaseKeeper
from scheduler.launching import RUN_TASK

logger = logging.getLogger(__name__)

DELIVER = "deliver alerts"
SCAN_TASKS = {scan.task: name for name, scan in SCANS.items()}

# In a child that was asked to stop: the result of its last task is on its way by then.
LEAVE_AFTER_SECONDS = 0.2

# In a child: the tasks that it is amid. A run of the job `celery` has another task within it.
_under_way: list[str] = []


def wire() -> None:
    """Take over the worker's signals. Called once, in the main process, before its children are forked."""
    queues = set(current_app.amqp.queues.consume_from)
    if queues == {metronome.QUEUE}:  # where jobs run, it is theirs how often
        collect_rarely()
    worker = become_worker()
    keeper = LeaseKeeper(worker, database_now, children=children_here)
    watch = scans.ScanWatch(SCANS, scan_here, by=f"watch of {worker.name}")
    signals.worker_shutting_down.connect(lambda **_: keeper.stop(), weak=False)
    signals.task_prerun.connect(_before_task, weak=False)
    signals.task_postrun.connect(_after_task, weak=False)
    _tick_for_ever("leases", keeper.tick, seconds=0.25)
    _tick_for_ever("lease guard", keeper.guard, seconds=0.25)
    _tick_for_ever("scan watch", watch.tick, seconds=1.0)
    if alert_tasks.QUEUE in queues:
        outbox = scans.ScanWatch({DELIVER: SCANS[DELIVER]}, serve_here, by=f"outbox of {worker.name}")
        _tick_for_ever("outbox", outbox.tick, seconds=1.0)


def children_here() -> set[int]:
    """Return the process numbers of this process's children."""
    return {child.pid for child in psutil.Process().children()}


def serve_here(_: str) -> str:
    """Serve the channels one after the other in the calling process. Without a broker no hint comes to the senders, and
    it is that of which somebody has to be told.
    """
    alert_tasks.serve_due()
    return ""


def scan_here(name: str) -> str:
    """Perform the scan in the calling process and return its note."""
    note = current_app.tasks[SCANS[name].task]()
    return note or ""


class ForkGate:
    """A lock that a fork waits for: no child is born while a thread of its parent is amid a statement.

    The wait is bounded, so that a database which hangs cannot keep a dead child from being replaced.
    """

    PATIENCE_SECONDS = 10.0

    def __init__(self) -> None:
        self.lock = threading.Lock()
        self._closed = False
        os.register_at_fork(before=self._close, after_in_parent=self._open, after_in_child=self._open)

    def _close(self) -> None:
        self._closed = self.lock.acquire(timeout=self.PATIENCE_SECONDS)

    def _open(self) -> None:
        if self._closed:
            self.lock.release()


def _tick_for_ever(name: str, tick: Callable[[], None], *, seconds: float) -> None:
    """Have a thread tick every so many seconds for as long as the process lives."""
    gate, pause = ForkGate(), threading.Event()

    def tick_on() -> None:
        while not pause.wait(seconds):
            with gate.lock:
                _tick_safely(name, tick)

    threading.Thread(target=tick_on, name=name, daemon=True).start()


def _tick_safely(name: str, tick: Callable[[], None]) -> None:
    try:
        tick()
    except Exception:
        # One faulty tick must not end the care for the leases: it is loud, and the next one tries again.
        logger.exception("a tick of the %s failed", name)
        connection.close()


# --- in the children -------------------------------------------------------------------------------------------


def _before_task(task: Task, **_: Any) -> None:
    _under_way.append(task.name)
    # Not earlier: billiard sets its own handlers last of all when a child begins, and they end the job amid its
    # work. An idle child is ended by them, and that is right.
    # The notifier has threads in place of children, and those have no signals.
    if threading.current_thread() is threading.main_thread():
        for number in (signal.SIGTERM, signal.SIGQUIT, signal.SIGHUP):
            signal.signal(number, _on_terminate)
    # The connection lives over tasks; here a broken one is noticed and replaced before the task meets it. A run
    # outlasts that by itself, and is spared the question.
    close_old_connections()
    connection.health_check_done = task.name == RUN_TASK  # type: ignore[attr-defined]


def _on_terminate(signum: int, frame: FrameType | None) -> None:
    """A whole process group is often told to stop (systemd does): a busy child lets its job reach a checkpoint."""
    this_worker().signals.stop_here()
    if not _under_way:
        os._exit(0)


def _after_task(task: Task, retval: Any = None, state: str = "", **_: Any) -> None:
    try:
        name = SCAN_TASKS.get(task.name)
        if name is not None:
            scans.mark(name, by=f"worker {this_worker().name}", note=_note(retval))
            watching.all_clear(name, now=database_now())
    finally:
        _under_way.pop()
        # A run whose end could not be written would be held for ever by a living child: this one goes, and the
        # keeper frees it.
        if this_worker().signals.stopping_here or (task.name == RUN_TASK and state == FAILURE):
            _leave_soon()


def _note(retval: Any) -> str:
    """Return what to note of a scan: what it said, or that it failed."""
    if isinstance(retval, BaseException):
        return f"The scan failed ({type(retval).__name__}); the worker's log says more, and the next one tries again."
    return retval if isinstance(retval, str) else ""


def _leave_soon() -> None:
    """End this child when it has told the main process how its task ended."""
    signal.signal(signal.SIGALRM, _on_terminate)
    signal.setitimer(signal.ITIMER_REAL, LEAVE_AFTER_SECONDS)

"""What each worker counts of itself, for `/metrics`: its tasks, how long they took, its memory and its age.

Each of its processes counts in its own memory and adds that to one hash in Redis now and then, so that none needs a
port, and web processes anywhere can tell of all. A worker that is gone is forgotten after a minute. What a process that
was killed had not told yet is not counted: these figures watch, and decide nothing.
"""

import logging
import threading
import time
from collections import defaultdict, deque
from typing import Any

import psutil
from celery import Task, signals
from celery.states import FAILURE, SUCCESS
from redis import RedisError

from scheduler.polling.connecting import hasty_client

logger = logging.getLogger(__name__)

NAMES = "tideline:workers"
TELL_SECONDS = 15.0
FORGOTTEN_AFTER_SECONDS = 60
OUTCOMES = {SUCCESS: "done", FAILURE: "failed"}


def key_of(worker: str) -> str:
    """Return where the worker's figures stand."""
    return f"tideline:worker:{worker}"


class Tally:
    """The figures of one worker, kept by its main process and by each of its children.

    Args:
        worker: its name, `runner@host`.
    """

    def __init__(self, worker: str) -> None:
        self._worker, self._began = worker, time.monotonic()
        self._ended: deque[tuple[str, str, float]] = deque()  # its operations need no lock, which a fork might break
        self._about_to_tell: threading.Timer | None = None

    def note(self, task: str, outcome: str, seconds: float) -> None:
        """Count a task that has ended, and tell of it soon."""
        self._ended.append((task, outcome, seconds))
        if self._about_to_tell is None or not self._about_to_tell.is_alive():
            self._about_to_tell = threading.Timer(TELL_SECONDS, self.tell)
            self._about_to_tell.daemon = True
            self._about_to_tell.start()

    def tell(self) -> None:
        """Add what was counted to the worker's figures. Without Redis it is not counted at all."""
        tasks, seconds = self._take()
        if not tasks:
            return
        with hasty_client().pipeline(transaction=False) as pipeline:
            for (task, outcome), count in tasks.items():
                pipeline.hincrby(key_of(self._worker), f"tasks:{outcome}:{task}", count)
            for task, spent in seconds.items():
                pipeline.hincrbyfloat(key_of(self._worker), f"seconds:{task}", spent)
            pipeline.expire(key_of(self._worker), FORGOTTEN_AFTER_SECONDS)
            _executed(pipeline)

    def _take(self) -> tuple[dict[tuple[str, str], int], dict[str, float]]:
        tasks: dict[tuple[str, str], int] = defaultdict(int)
        seconds: dict[str, float] = defaultdict(float)
        while self._ended:
            task, outcome, spent = self._ended.popleft()
            tasks[task, outcome] += 1
            seconds[task] += spent
        return tasks, seconds

    def tell_of_the_process(self) -> None:
        """Say that the worker lives, how many processes it has and what memory they take."""
        processes = [psutil.Process(), *psutil.Process().children(recursive=True)]
        facts: dict[Any, Any] = {
            "uptime": time.monotonic() - self._began,
            "processes": len(processes),
            "memory": sum(map(_memory, processes)),
        }
        with hasty_client().pipeline(transaction=False) as pipeline:
            pipeline.sadd(NAMES, self._worker)
            pipeline.hset(key_of(self._worker), mapping=facts)
            pipeline.expire(key_of(self._worker), FORGOTTEN_AFTER_SECONDS)
            _executed(pipeline)


def _memory(process: psutil.Process) -> int:
    try:
        return int(process.memory_info().rss)
    except psutil.NoSuchProcess:  # it has ended meanwhile
        return 0


def _executed(pipeline: Any) -> None:
    try:
        pipeline.execute()
    except RedisError as error:
        logger.info("the figures of this worker are lost: %s", type(error).__name__)


def wire(worker: str) -> None:
    """Count from now on. Called once, in the main process, before its children are forked."""
    tally = Tally(worker)

    def begin(task: Task, **_: Any) -> None:
        task.request.began = time.monotonic()

    def end(task: Task, state: str = "", **_: Any) -> None:
        tally.note(task.name, OUTCOMES.get(state, state.lower()), time.monotonic() - task.request.began)

    def tell(**_: Any) -> None:
        tally.tell()

    signals.task_prerun.connect(begin, weak=False)
    signals.task_postrun.connect(end, weak=False)
    for parting in (signals.worker_process_shutdown, signals.worker_shutdown):
        parting.connect(tell, weak=False)
    threading.Thread(target=_tell_for_ever, args=[tally], name="figures", daemon=True).start()


def _tell_for_ever(tally: Tally) -> None:
    while True:
        tally.tell_of_the_process()
        time.sleep(TELL_SECONDS)

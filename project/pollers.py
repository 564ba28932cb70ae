"""How a Celery worker becomes a poller: one process, whose tasks only hand batches to the event loop beside them.

Wired to Celery's signals by project/celery.py. A poller holds no runs, has no children and scans nothing.
"""

from collections.abc import Sequence

from celery import signals

from project.kit.collecting import collect_rarely
from scheduler.polling import engine
from scheduler.polling.params import SHARED_QUEUE


def reads(queues: Sequence[str]) -> bool:
    """Tell whether a worker that reads these queues is a poller."""
    return any(queue.startswith(SHARED_QUEUE) for queue in queues)


def wire(queues: Sequence[str]) -> None:
    """Take over the signals of a worker that reads these queues."""
    collect_rarely()
    engine.begin(queues)
    signals.worker_shutdown.connect(lambda **_: engine.end(), weak=False)

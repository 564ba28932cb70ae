"""How a Celery worker becomes a poller: one process, whose tasks only hand batches to the event loop beside them.

Wired to Celery's signals by project/celery.py. A poller holds no runs, has no children and scans nothing.
"""

import gc
from collections.abc import Sequence

from celery import signals

from scheduler.polling import engine
from scheduler.polling.params import SHARED_QUEUE

# So many objects more than before, and Python looks for those that only refer to each other; then the older ones.
COLLECT_AFTER = (50_000, 20, 20)


def reads(queues: Sequence[str]) -> bool:
    """Tell whether a worker that reads these queues is a poller."""
    return any(queue.startswith(SHARED_QUEUE) for queue in queues)


def wire(queues: Sequence[str]) -> None:
    """Take over the signals of a worker that reads these queues."""
    _collect_rarely()
    engine.begin(queues)
    signals.worker_shutdown.connect(lambda **_: engine.end(), weak=False)


def _collect_rarely() -> None:
    """Spare what is loaded by now, which stays for ever, from being looked through again and again: what is made for a
    call goes with it, and all that looking took a third of the poller's time.
    """
    gc.collect()
    gc.freeze()
    gc.set_threshold(*COLLECT_AFTER)

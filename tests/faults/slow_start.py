"""A module of jobs, as TIDELINE_JOBS names them, whose users do slow things when a child of a worker begins."""

import time
from typing import Any

from celery import signals

SECONDS = 5


@signals.worker_process_init.connect
def load_a_large_model(**_: Any) -> None:
    """Take longer than the four seconds after which Celery's default gives a child up."""
    time.sleep(SECONDS)

"""Bearing a database that is away for a while: restarted, failed over, or behind a cut connection."""

import logging
import time
from collections.abc import Callable
from typing import TypeVar

from django.db import InterfaceError, OperationalError, connection

logger = logging.getLogger(__name__)

Answer = TypeVar("Answer")

PAUSE_SECONDS = 0.25


def outlast(ask: Callable[[], Answer], *, seconds: float, monotonic: Callable[[], float] = time.monotonic) -> Answer:
    """Return the answer, asking again while the database is away.

    For statements whose repetition is harmless: what an interrupted one wrote may have been committed. Within a
    transaction nothing is repeated, because what went before is gone.

    Args:
        seconds: how long to go on asking.

    Raises:
        OperationalError, InterfaceError: it is still away.
    """
    deadline = monotonic() + seconds
    told = False
    while True:
        try:
            return ask()
        except (OperationalError, InterfaceError) as error:
            if connection.in_atomic_block or monotonic() >= deadline:
                raise
            if not told:
                logger.warning("the database is away, asking again: %s", type(error).__name__)
                told = True
        connection.close()
        time.sleep(PAUSE_SECONDS)


def went_away() -> bool:
    """Return whether this thread has no connection to the database that works."""
    return connection.connection is None or not connection.is_usable()

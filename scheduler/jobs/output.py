"""What an attempt printed: the last 64 KiB, written to its row now and then while it runs."""

import logging
import threading
import time
from collections.abc import Callable

from django.db import DatabaseError, InterfaceError, connection

from scheduler.models import Attempt

logger = logging.getLogger(__name__)

KEPT_BYTES = 64 * 1024
FLUSH_SECONDS = 1.0
REPLACEMENT = "\N{REPLACEMENT CHARACTER}"


class Output:
    """Collects text and keeps its end. Any thread may write; the one that made it flushes.

    Args:
        discreet: masks what is to be seen by nobody.
    """

    def __init__(self, run_id: int, attempt: int, discreet: Callable[[str], str] = str) -> None:
        self._run_id, self._attempt, self._discreet = run_id, attempt, discreet
        self._kept = b""
        self._cut = False
        self._written = True
        self._flushed_at = time.monotonic()
        self._lock = threading.Lock()
        self._thread = threading.get_ident()

    @property
    def text(self) -> str:
        """What is kept; a first line says if the beginning is missing."""
        # PostgreSQL's text holds no NUL; a cut may have split a character.
        text = self._discreet(self._kept.decode(errors="replace").replace("\x00", REPLACEMENT))
        return f"[the beginning was dropped]\n{text.lstrip(REPLACEMENT)}" if self._cut else text

    def write(self, text: str | bytes) -> None:
        """Add text; it is in the row within about a second of the next write, and at the attempt's end."""
        added = text.encode(errors="replace") if isinstance(text, str) else text
        with self._lock:
            self._kept += added
            if len(self._kept) > KEPT_BYTES:
                self._kept, self._cut = self._kept[-KEPT_BYTES:], True
            self._written = False
        self.refresh()

    def refresh(self) -> None:
        """Flush if the last time was a second ago; for jobs that wait and print nothing meanwhile."""
        if time.monotonic() - self._flushed_at >= FLUSH_SECONDS:
            self.flush()

    def flush(self) -> None:
        """Write what is new to the attempt's row, unless the attempt has ended.

        Amid a transaction of the job it waits: the row would stay locked until that ends, and the worker's care for
        its leases would wait with it. A database that is away is borne; the end of the attempt writes all.
        """
        if self._written or threading.get_ident() != self._thread or connection.in_atomic_block:
            return
        self._flushed_at = time.monotonic()
        open_attempt = Attempt.objects.filter(run=self._run_id, number=self._attempt, finished_at__isnull=True)
        try:
            self._written = True
            open_attempt.update(output=self.text)
        except (DatabaseError, InterfaceError) as error:
            logger.warning("run #%s: its output cannot be written now: %s", self._run_id, type(error).__name__)
            self._written = False
            connection.close()

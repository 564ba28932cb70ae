"""What code of others prints and logs, while it runs under a run, belongs to the run's output."""

import io
import logging
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager, redirect_stderr, redirect_stdout
from typing import Any, TextIO, cast

from django.db import connection

from scheduler.jobs.context import RunContext
from scheduler.jobs.patience import Patience


class OutputStream(io.TextIOBase):
    """A text stream into the output. Code that prints now and then also gives way there when it has to.

    Not amid a transaction, which may be broken already; the next print after it is soon enough.
    """

    def __init__(self, context: RunContext) -> None:
        super().__init__()
        self._output = context.output
        self._patience = Patience(context)
        self._thread = threading.get_ident()

    def writable(self) -> bool:
        return True

    def write(self, text: str) -> int:
        self._output.write(text)
        if threading.get_ident() == self._thread and not connection.in_atomic_block:
            self._patience.check()
        return len(text)


class OutputHandler(logging.Handler):
    """Passes log records on to the output, but what Celery itself says about the task."""

    def __init__(self, context: RunContext) -> None:
        super().__init__()
        self._context = context
        self.addFilter(lambda record: not record.name.startswith(("celery.app", "celery.worker")))

    def emit(self, record: logging.LogRecord) -> None:
        try:
            self._context.log(f"{record.levelname}: {self.format(record)}")
        except Exception:
            self.handleError(record)


@contextmanager
def captured(context: RunContext) -> Iterator[TextIO]:
    """Lead standard output, standard error and log records into the output, and leave nothing to read."""
    stream = cast(TextIO, OutputStream(context))
    handler = OutputHandler(context)
    stdin: Any = sys.stdin
    logging.getLogger().addHandler(handler)
    sys.stdin = io.StringIO()  # a question ends with EOFError; a worker in a terminal would wait for its answer
    try:
        with redirect_stdout(stream), redirect_stderr(stream):
            yield stream
    finally:
        sys.stdin = stdin
        logging.getLogger().removeHandler(handler)

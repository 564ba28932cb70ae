"""How a command checkpoints: a JSON file of its run, which it may change and which is read now and then."""

import json
import logging
import os
import stat
import time
from pathlib import Path
from tempfile import TemporaryDirectory
from types import TracebackType
from typing import Any, Self

from django.db import DatabaseError, DataError, InterfaceError, connection

from scheduler.jobs.context import RunContext

logger = logging.getLogger(__name__)

FILE_NAME = "progress.json"
LOOK_SECONDS = 0.25
LARGEST_BYTES = 1024 * 1024
LARGEST_COUNT = 2**63 - 1


class ProgressFile:
    """The run's progress as a JSON object in a private file. What the command writes there becomes the run's
    progress: `done` and `total` move the bar, the rest is the resume point.

    Args:
        owner: numbers of the user and group that the command runs as, or None for the present one.
    """

    def __init__(self, context: RunContext, owner: tuple[int, int] | None = None) -> None:
        self._context = context
        self._folder = TemporaryDirectory(prefix=f"tideline-run-{context.run_id}-", ignore_cleanup_errors=True)
        self.path = Path(self._folder.name) / FILE_NAME
        self._content = json.dumps(_starting_point(context)).encode()
        self.path.write_bytes(self._content)
        self._looked_at = time.monotonic()
        if owner is not None:
            os.chown(self.path, *owner)
            os.chown(self._folder.name, *owner)  # a new file put in its place is the safe way to write it
        # The command owns the folder and may put anything in its place; we read in the one that we made.
        self._descriptor = os.open(self._folder.name, os.O_RDONLY | os.O_DIRECTORY)

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        os.close(self._descriptor)
        self._folder.cleanup()

    def look(self, *, last: bool = False) -> None:
        """Checkpoint what changed, a few times a second at the most. What is half written is awaited.

        Args:
            last: the command has ended: what cannot be read now is said in the output.

        Raises:
            RunInterrupted: as RunContext.checkpoint.
        """
        if not last and time.monotonic() - self._looked_at < LOOK_SECONDS:
            return
        self._looked_at = time.monotonic()
        content = self._read()
        if content is None or content == self._content:
            return
        values = _as_object(content)
        if values is not None:
            self._save(content, values)
        elif last:
            self._context.log("[the progress file holds no JSON object; it was not checkpointed]")

    def _read(self) -> bytes | None:
        """Return what the file holds; None where there is no plain file of a moderate size."""
        flags = os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC
        try:
            descriptor = os.open(FILE_NAME, flags, dir_fd=self._descriptor)
        except OSError:
            return None
        try:
            found = os.fstat(descriptor)
            if not stat.S_ISREG(found.st_mode) or found.st_size > LARGEST_BYTES:
                return None
            return os.read(descriptor, LARGEST_BYTES)
        finally:
            os.close(descriptor)

    def _save(self, content: bytes, values: dict[str, Any]) -> None:
        done, total = (_count(values.pop(name, None)) for name in ("done", "total"))
        try:
            self._context.checkpoint(done=done, total=total, **values)
            self._content = content
        except DataError as error:
            self._content = content
            self._context.log(f"[the progress was not checkpointed: {str(error).splitlines()[0]}]")
        except (DatabaseError, InterfaceError) as error:
            # It is away; the next look tries again for as long as the lease holds.
            logger.warning("run #%s: its progress waits: %s", self._context.run_id, type(error).__name__)
            connection.close()


def _starting_point(context: RunContext) -> dict[str, Any]:
    bar = {"done": context.done, "total": context.total}
    return context.progress | {name: count for name, count in bar.items() if count is not None}


def _as_object(content: bytes) -> dict[str, Any] | None:
    try:
        values = json.loads(content)
    except (ValueError, RecursionError):
        return None
    return values if isinstance(values, dict) else None


def _count(value: Any) -> int | None:
    counts = isinstance(value, int) and not isinstance(value, bool) and 0 <= value <= LARGEST_COUNT
    return value if counts else None

"""The clock of one process, stepped under it: libfaketime from a wheel."""

from importlib.util import find_spec
from pathlib import Path


class SteppedClock:
    """A clock that the processes which are started with `environ` see; the monotonic one is left alone."""

    def __init__(self, folder: Path) -> None:
        """Keep the offset in a file of the folder; it begins with none."""
        self._offset = folder / "clock"
        self.step(0)

    @property
    def environ(self) -> dict[str, str]:
        """The environment of a process that is to see this clock."""
        found = find_spec("libfaketime")
        assert found is not None
        assert found.origin is not None
        return {
            "LD_PRELOAD": str(Path(found.origin).parent / "vendor/libfaketime/src/libfaketime.so.1"),
            "FAKETIME_TIMESTAMP_FILE": str(self._offset),
            "FAKETIME_NO_CACHE": "1",
            "DONT_FAKE_MONOTONIC": "1",
        }

    def step(self, seconds: int) -> None:
        """Set the clock ahead or back, as seen from the true time."""
        unfinished = self._offset.with_suffix(".unfinished")
        unfinished.write_text(f"{seconds:+d}\n")
        unfinished.replace(self._offset)

"""A small Procfile under the supervisor, for the tests to kill: python -m tests.project.supervised FOLDER.

The folder holds a Procfile; others lean on its process `leant`. What the supervisor says comes out on standard output.
"""

import os
import sys
from pathlib import Path

from project.processes import MARK, Console, Process, Supervisor, commands


class NoServers:
    """Stands where the embedded servers are."""

    def revive(self) -> list[str]:
        """Nothing has died."""
        return []


def main(folder: Path) -> None:
    """Supervise the folder's Procfile until a signal."""
    lines = commands(folder / "Procfile")
    environ = os.environ | {MARK: str(folder)}
    processes = [Process(name, line, environ, folder, is_leant_on=name == "leant") for name, line in lines.items()]
    Supervisor(processes, NoServers(), Console(sys.stdout, list(lines))).run(lambda: None)


if __name__ == "__main__":
    main(Path(sys.argv[1]))

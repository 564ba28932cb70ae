"""What the processes of the Procfile hold in memory, idle and after some runs."""

import time
from pathlib import Path
from tempfile import TemporaryDirectory

import psutil

from tests.benchmarks import runs, servers
from tests.benchmarks.measuring import Measurement, Options, stated
from tests.processes import Processes, Started

NAMES = ("web", "worker", "runner", "beat")
SETTLE_SECONDS = 3
MIB = 1024 * 1024


def measure(options: Options) -> list[Measurement]:
    """State the proportional set sizes: a page that several processes share counts once, in parts."""
    servers.empty_broker()
    servers.empty_tables()
    with TemporaryDirectory() as folder:
        processes = Processes(Path(folder))
        try:
            started = [processes.start(name, **_surroundings(name)) for name in NAMES]
            runs.warm_up(processes)
            time.sleep(SETTLE_SECONDS)
            held = {process.name: _held(process) for process in started}
        finally:
            processes.end()
    figures = [stated(f"memory of {name}", "MiB", mib) for name, mib in held.items()]
    return [*figures, stated(f"memory of {' + '.join(held)}", "MiB", sum(held.values()))]


def _surroundings(name: str) -> dict[str, str]:
    from project.services.redis_server import free_port

    if name == "web":
        return {"PORT": str(free_port())}
    return {"TIDELINE_RUNNERS": runs.CHILDREN} if name == "runner" else {}


def _held(process: Started) -> float:
    """Return the MiB of a process and its children."""
    main = psutil.Process(process.pid)
    return sum(proportional(each) for each in [main, *main.children(recursive=True)]) / MIB


def proportional(process: psutil.Process) -> int:
    """Return the bytes of a process alone; a page that several processes share counts in parts."""
    memory = process.memory_full_info()
    size: int = getattr(memory, "pss", memory.rss)  # Linux says it, others do not
    return size

"""What work takes of the processor: the same however busy the machine is with other things."""

from collections import defaultdict
from collections.abc import Iterable

import psutil

from tests.processes import Started

SERVERS = {"postgres": "PostgreSQL", "redis-server": "Redis", "valkey-server": "Redis"}


def used(processes: Iterable[psutil.Process]) -> float:
    """Return the processor's seconds that the processes have used."""
    times = [process.cpu_times() for process in processes]
    return sum(each.user + each.system for each in times)


def family(pid: int | None = None) -> list[psutil.Process]:
    """Return a process, by default this one, and all its living descendants."""
    head = psutil.Process(pid)
    return [head, *head.children(recursive=True)]


def used_by_kind(started: Iterable[Started]) -> dict[str, float]:
    """Return the processor's seconds that were used until now, by the name of the process or server."""
    kinds: dict[str, float] = defaultdict(float)
    for process in started:
        kinds[process.name] += used(family(process.pid))
    for member in family():
        if server := SERVERS.get(member.name()):
            kinds[server] += used([member])
    return kinds

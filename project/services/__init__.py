"""The servers that the try-out and the tests bring along: a PostgreSQL from a wheel, and a Redis or Valkey
from PATH or from a wheel. What `DATABASE_URL` and `REDIS_URL` name wins over them.

Nothing here imports Django: the servers run before the settings are read.
"""

import fcntl
import os
from collections.abc import Mapping
from pathlib import Path
from typing import IO

from project.services.postgresql import PostgreSQL, reach_postgresql
from project.services.redis_server import Redis, reach_redis
from project.services.server import Server, ServiceError

__all__ = ["PostgreSQL", "Redis", "Server", "ServiceError", "Services"]

REACHED_BY = {"DATABASE_URL": reach_postgresql, "REDIS_URL": reach_redis}


class Services:
    """The servers of one state folder, and the folder's lock: one start at a time works in it."""

    def __init__(self, state: Path, given: Mapping[str, str], *, durable: bool = True) -> None:
        """Choose the servers; nothing is started yet.

        Args:
            state: the folder for data, logs and sockets; made if it is not there.
            given: the environment; a server that it names by `DATABASE_URL` or `REDIS_URL` is left to others.
            durable: whether the data has to survive a crash of the machine (tests do without).
        """
        self.state = state.absolute()
        self.servers: list[Server] = []
        if not given.get("DATABASE_URL"):
            self.servers.append(PostgreSQL(self.state, durable=durable))
        if not given.get("REDIS_URL"):
            self.servers.append(Redis(self.state, durable=durable))
        self._given = {name: given[name] for name in REACHED_BY if given.get(name)}
        self._lock: IO[str] | None = None

    def lock(self) -> None:
        """Take the state folder for this process; its end gives the folder back, however it ends.

        Raises:
            ServiceError: another process has it, or the folder cannot be written.
        """
        try:
            self.state.mkdir(mode=0o700, parents=True, exist_ok=True)
            self._lock = lock_file(self.state / "lock")
        except OSError as error:
            raise ServiceError(f"The folder {self.state} cannot be used: {error.strerror}.") from error

    def start(self) -> dict[str, str]:
        """Start what is ours, ask what was given, and return where both are: `DATABASE_URL` and `REDIS_URL`.

        Raises:
            ServiceError: a server does not come up or does not answer; those of ours are stopped again.
        """
        if self._lock is None:
            self.lock()
        try:
            for name, url in self._given.items():
                REACHED_BY[name](url)
            for server in self.servers:
                server.start()
        except BaseException:
            self.stop()
            raise
        return self._given | {server.variable: server.url for server in self.servers}

    def revive(self) -> list[str]:
        """Start again, at the same place, each server that has died, without waiting for it; return their names."""
        dead = [server for server in self.servers if server.died()]
        for server in dead:
            server.spawn()
        return [server.name for server in dead]

    def stop(self) -> None:
        """Stop what is ours, the last started first, and give the folder back."""
        for server in reversed(self.servers):
            server.stop()
        if self._lock is not None:
            self._lock.close()
            self._lock = None


def lock_file(path: Path) -> IO[str]:
    """Return the open file with an exclusive lock on it, and our process number in it.

    Raises:
        ServiceError: another process has the lock.
    """
    file = path.open("a+")
    try:
        fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError as error:
        file.seek(0)
        holder = file.read().strip()
        file.close()
        raise ServiceError(
            f"Tideline already runs in {path.parent} (process {holder}). Stop it with Ctrl-C there, or: kill {holder}"
        ) from error
    file.truncate(0)
    file.write(str(os.getpid()))
    file.flush()
    return file

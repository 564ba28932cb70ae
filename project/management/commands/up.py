"""`manage.py up`: everything on one machine, for trying out and for developing."""

import errno
import http.client
import json
import os
import signal
import socket
import subprocess
import sys
from argparse import ArgumentParser
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from django.conf import settings
from django.core.management.base import BaseCommand, CommandError

from project.processes import MARK, Console, Process, Supervisor, commands, end, marked, stop_signals
from project.services import ServiceError, Services
from project.services.lifeline import bound_to_us
from project.services.redis_server import free_port
from project.tryout import environment, read_environment, write_environment

LEFTOVER_SECONDS = 12  # what an earlier start left may be in the middle of its own graceful stop


class Command(BaseCommand):
    """Starts the servers, the database's first contents and every process of the Procfile; Ctrl-C stops all."""

    help = (
        "Starts Tideline with all that it needs: an embedded PostgreSQL and Redis (unless DATABASE_URL and "
        "REDIS_URL name others), the tables, a first administrator, a small try-out, and every process of "
        "the Procfile. Ctrl-C stops all of it. The data stays in .tideline/ (or TIDELINE_STATE_DIR)."
    )
    requires_system_checks: list[str] = []

    def add_arguments(self, parser: ArgumentParser) -> None:
        """Declare the options."""
        parser.add_argument(
            "--port",
            type=int,
            default=os.environ.get("PORT", "8000"),
            help="where the admin is served (default: PORT, or 8000)",
        )
        parser.add_argument(
            "--flower-port",
            type=int,
            default=os.environ.get("FLOWER_PORT", "5555"),
            help="where Flower is served (default: FLOWER_PORT, or 5555)",
        )
        parser.add_argument(
            "--no-tryout", action="store_true", help="leave out the example schedules of the first start"
        )

    def handle(self, **options: Any) -> None:
        """Start, say what to open, and stay until a signal asks to stop."""
        start = Start(options["port"], options["flower_port"], say=self.say)
        for number in stop_signals():  # until the processes run, each of them is a Ctrl-C
            signal.signal(number, signal.default_int_handler)
        try:
            start.run(with_tryout=not options["no_tryout"])
        except ServiceError as error:
            raise CommandError(str(error)) from error
        except OSError as error:
            raise CommandError(f"{error.filename or 'Tideline'} cannot be used: {error.strerror}.") from error
        except KeyboardInterrupt:
            sys.exit("Stopped before everything ran.")

    def say(self, line: str) -> None:
        """Tell what is being done."""
        self.stdout.write(line)
        self.stdout.flush()


class Start:
    """One start of the try-out: from the lock on its folder to the end of its last process."""

    def __init__(self, port: int, flower_port: int, say: Callable[[str], None]) -> None:
        self.say = say
        self.state = settings.STATE_DIR.absolute()
        self.host = os.environ.get("TIDELINE_HOST", "127.0.0.1")
        self.flower_host = os.environ.get("FLOWER_ADDRESS", "127.0.0.1")
        self.port = port
        self.flower_port = flower_port
        self.before = read_environment(self.state / "env")
        self.services = Services(self.state, said(os.environ, self.before))

    def run(self, *, with_tryout: bool) -> None:
        """Start everything, stay, and leave nothing behind.

        Raises:
            ServiceError: something that it needs is not there; the text says what to do.
        """
        self.services.lock()
        try:
            self.end_what_was_left()
            check_port(self.host, self.port, "--port")
            check_port(self.flower_host, self.flower_port, "--flower-port")
            if os.geteuid() == 0:
                self.say("Running as root, and so will the jobs: an ordinary user is enough.")
            self.say("Starting the servers ...")
            environ = self.environment(self.services.start())
            self.say("Preparing the database ...")
            self.supervise(environ, prepared(environ, with_tryout=with_tryout))
        finally:
            self.services.stop()
            end(marked(str(self.state)), 0)  # what a job has put into a session of its own

    def end_what_was_left(self) -> None:
        """End the processes of an earlier start that was killed itself."""
        if left := marked(str(self.state)):
            self.say(f"Ending {len(left)} processes that an earlier start left ...")
            end(left, LEFTOVER_SECONDS)

    def environment(self, urls: Mapping[str, str]) -> dict[str, str]:
        """Write the environment file, and return the whole environment of the processes."""
        flower_url = f"http://{self.flower_host}:{self.flower_port}/"
        url = f"http://{reached(self.host)}:{self.port}/"
        ours = {
            "TIDELINE_URL": url,
            "TIDELINE_INBOX_URL": f"{url}inbox/",
            "TIDELINE_CARRIER_URL": f"http://127.0.0.1:{free_port()}",
        }
        values = environment(self.before, {**urls, **ours}, flower_url)
        write_environment(self.state / "env", values)
        return {
            **values,
            **said(os.environ, self.before),
            "PATH": f"{Path(sys.executable).parent}:{os.environ.get('PATH', os.defpath)}",
            "PORT": str(self.port),
            "FLOWER_PORT": str(self.flower_port),
            "TIDELINE_STATE_DIR": str(self.state),
            "PYTHONUNBUFFERED": "1",
            "PYTHONWARNINGS": "ignore:You're running the worker",  # what Celery says of root, we say once
            MARK: str(self.state),
        }

    def supervise(self, environ: Mapping[str, str], outcome: Mapping[str, str | None]) -> None:
        """Run the Procfile's processes, and the simulated carrier where something asks it, until a signal; greet as
        soon as the admin is served.
        """
        lines = commands(settings.BASE_DIR / "Procfile")
        processes = [Process(name, line, environ, settings.BASE_DIR) for name, line in lines.items()]
        if carrier := outcome["carrier"]:
            processes.insert(0, Process("carrier", carrier, environ, settings.BASE_DIR, is_leant_on=True))
        console = Console(sys.stdout, [process.name for process in processes])
        greeting = Greeting(self.host, self.port, environ["TIDELINE_FLOWER_URL"], outcome, self.state, self.say)
        try:
            Supervisor(processes, self.services, console).run(greeting.give_when_served)
        finally:
            greeting.give_password_at_least()
            if console.closed:  # nobody reads any more; Python would complain about it at its end
                os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


class Greeting:
    """What to open, said once: when the admin is served."""

    def __init__(
        self,
        host: str,
        port: int,
        flower_url: str,
        account: Mapping[str, str | None],
        state: Path,
        say: Callable[[str], None],
    ) -> None:
        self.address = (reached(host), port)
        self.flower_url = flower_url
        self.user = account["user"]
        self.password = account["password"]
        self.state = state
        self.say = say
        self.given = False

    def give_when_served(self) -> None:
        """Greet if the admin answers and nobody has been greeted."""
        if not self.given and answers(*self.address):
            self.given = True
            self.say(self.text())

    def text(self) -> str:
        """Return the greeting."""
        return "\n".join([
            "",
            f"  Tideline is up:  http://{self.address[0]}:{self.address[1]}/admin/",
            f"                   {self.login()}",
            f"  Flower:          {self.flower_url}",
            f"                   user:password is FLOWER_BASIC_AUTH in {self.state / 'env'}",
            "  Ctrl-C stops everything.",
            "",
        ])  # fmt: skip

    def login(self) -> str:
        """Return who can log in, with the password if it has just been made."""
        change = f"python3 manage.py changepassword {self.user}"
        if self.user is None:
            return "no administrator yet; make one: python3 manage.py createsuperuser"
        if self.password is None:
            return f"user {self.user}; the password was printed at the first start; set a new one: {change}"
        return f"user {self.user}, password {self.password}  (printed only this once; another: {change})"

    def give_password_at_least(self) -> None:
        """Print a new password that the greeting has not printed: there is no other place to find it."""
        if self.password and not self.given:
            self.say(f"  {self.login()}")


def reached(host: str) -> str:
    """Return where this machine reaches a server that listens there."""
    return "127.0.0.1" if host == "0.0.0.0" else host  # noqa: S104 - compared, not bound


def said(environ: Mapping[str, str], before: Mapping[str, str]) -> dict[str, str]:
    """Return what the environment itself says, without what the settings filled in from the last start's file."""
    return {name: value for name, value in environ.items() if before.get(name) != value}


def check_port(host: str, port: int, option: str) -> None:
    """Check that a port can be listened on.

    Raises:
        ServiceError: it cannot.
    """
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    with socket.socket(family, socket.SOCK_STREAM) as probe:
        probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            probe.bind((host, port))
        except OSError as error:
            why = "is taken" if error.errno == errno.EADDRINUSE else f"cannot be used ({error.strerror})"
            raise ServiceError(f"Port {port} {why}. Say another: bin/up {option} {port + 1}") from error
        except OverflowError as error:
            raise ServiceError(f"{option} {port}: a port is a number from 1 to 65535.") from error


def prepared(environ: Mapping[str, str], *, with_tryout: bool) -> dict[str, str | None]:
    """Prepare the database in a process that reads the settings anew; return the outcome of `tryout.prepare`.

    Raises:
        ServiceError: it could not be prepared.
    """
    command = [*bound_to_us(signal.SIGTERM), sys.executable, "-m", "project.tryout"]
    done = subprocess.run(
        command if with_tryout else [*command, "--no-tryout"],
        cwd=settings.BASE_DIR,
        env=environ,
        capture_output=True,
        text=True,
        check=False,
    )
    if done.returncode:
        raise ServiceError(done.stderr.strip())
    outcome: dict[str, str | None] = json.loads(done.stdout.splitlines()[-1])
    return outcome


def answers(host: str, port: int) -> bool:
    """Return whether a web server answers there, with whatever."""
    connection = http.client.HTTPConnection(host, port, timeout=1)
    try:
        connection.request("GET", "/admin/login/")
        return connection.getresponse().status < 500
    except (OSError, http.client.HTTPException):
        return False
    finally:
        connection.close()

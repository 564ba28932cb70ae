"""A real start of everything, watched from outside: what it says, what it runs, and that nothing of it is left."""

import os
import re
import subprocess
import time
from collections.abc import Callable, Sequence
from pathlib import Path

import httpx
import psutil

from project.services.redis_server import free_port

OURS = re.compile("DATABASE_URL|REDIS_URL|SECRET_KEY|DJANGO_|TIDELINE_|FLOWER_|ALLOWED_HOSTS|VIRTUAL_ENV")


class Start:
    """`bin/up` or `manage.py up`, started in a folder with free ports and nothing of ours in its environment."""

    def __init__(self, command: Sequence[str], folder: Path, output: Path, **environ: str) -> None:
        self.port, self.flower_port = free_port(), free_port()
        self.output = output
        clean = {name: value for name, value in os.environ.items() if not OURS.match(name)}
        ports = {"PORT": str(self.port), "FLOWER_PORT": str(self.flower_port)}
        with output.open("wb") as out:
            self.process = subprocess.Popen(
                command,
                cwd=folder,
                env=clean | ports | environ,
                stdout=out,
                stderr=subprocess.STDOUT,
                start_new_session=True,
            )

    def said(self) -> str:
        """Return what it has said so far."""
        return self.output.read_text()

    def waits_for(self, condition: Callable[[], object], seconds: float = 90) -> None:
        """Ask again and again until the condition holds.

        Raises:
            AssertionError: it does not hold in time, or the start has ended; the text is what the start has said.
        """
        deadline = time.monotonic() + seconds
        while not condition():
            assert time.monotonic() < deadline, self.said()
            assert self.process.poll() is None, self.said()
            time.sleep(0.1)

    def waits_for_words(self, pattern: str, seconds: float = 90) -> re.Match[str]:
        """Wait until it says something like this."""
        self.waits_for(lambda: re.search(pattern, self.said()), seconds)
        found = re.search(pattern, self.said())
        assert found is not None
        return found

    def password(self, seconds: float = 90) -> str:
        """Wait until the admin is served for the first time, and return its password."""
        return self.waits_for_words(r"password (\S+)  \(printed only this once", seconds)[1]

    def everything(self) -> list[psutil.Process]:
        """Return all that belongs to it: its descendants."""
        return psutil.Process(self.process.pid).children(recursive=True)

    def main_process(self, words: str) -> psutil.Process:
        """Return the one of its direct children that has these words in its command line."""
        children = psutil.Process(self.process.pid).children()
        return next(child for child in children if words in " ".join(child.cmdline()))


def login(port: int, password: str) -> httpx.Response:
    """Log into the admin as a browser does, and return the page behind the login."""
    with httpx.Client(base_url=f"http://127.0.0.1:{port}", follow_redirects=True) as browser:
        browser.get("/admin/login/")
        return browser.post(
            "/admin/login/?next=/admin/",
            data={"username": "admin", "password": password, "csrfmiddlewaretoken": browser.cookies["csrftoken"]},
        )

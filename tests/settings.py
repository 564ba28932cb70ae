"""The project's settings on servers of the tests' own, which must run before the settings are read.

`DATABASE_URL` and `REDIS_URL` win over them. Each process that runs tests has its own servers in a temporary folder,
so that several runs in one checkout, and the workers of one run, do not meet; they start in about half a second.
"""

import atexit
import os
import shutil
import tempfile
from argparse import ArgumentParser
from pathlib import Path

from project.services import Services


def runs_tests() -> bool:
    """Return whether this process runs tests itself: `pytest -n 3` has its workers run them."""
    if "PYTEST_XDIST_WORKER" in os.environ:
        return True
    options = ArgumentParser(add_help=False, allow_abbrev=False)
    options.add_argument("-n", "--numprocesses", default="0")
    return options.parse_known_args()[0].numprocesses == "0"


def stop_servers() -> None:
    """Stop what was started, and leave nothing behind."""
    SERVICES.stop()
    shutil.rmtree(FOLDER, ignore_errors=True)


def last_words() -> list[tuple[str, str]]:
    """Return what the servers that were started said last, each under its name."""
    said = [(server.name, server.log) for server in SERVICES.servers if server.log.exists()]
    return [(f"{name} said last", "\n".join(log.read_text(errors="replace").splitlines()[-15:])) for name, log in said]


FOLDER = Path(tempfile.mkdtemp(prefix="tideline-tests-"))
SERVICES = Services(FOLDER, os.environ, durable=False)
atexit.register(stop_servers)
os.environ |= {
    "ALLOWED_HOSTS": "localhost,127.0.0.1,testserver",
    "SECRET_KEY": "only-for-tests",
    "TIDELINE_ALLOW_COMMANDS": "1",
    "TIDELINE_PLAIN_HTTP": "1",
    "TIDELINE_STATE_DIR": str(FOLDER),  # a try-out in the same checkout has no say here
}
if runs_tests():
    os.environ |= SERVICES.start() | {"DJANGO_SETTINGS_MODULE": "project.settings"}  # for child processes

from project.settings import *  # noqa: E402, F403 - only now there is something to read

WHITENOISE_AUTOREFRESH = True  # the files are looked for when one is asked for, not by each client of a test
PASSWORD_HASHERS = ["django.contrib.auth.hashers.MD5PasswordHasher"]

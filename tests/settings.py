"""The project's settings on servers of the tests' own, which must run before the settings are read.

`DATABASE_URL` and `REDIS_URL` win over them. Each test run has its own servers in a temporary folder, so that
several runs in one checkout do not meet; they start in about half a second.
"""

import atexit
import os
import shutil
import tempfile
from pathlib import Path

from project.services import Services

FOLDER = Path(tempfile.mkdtemp(prefix="tideline-tests-"))
SERVICES = Services(FOLDER, os.environ, durable=False)

atexit.register(shutil.rmtree, FOLDER, ignore_errors=True)
atexit.register(SERVICES.stop)  # before its folder goes
os.environ |= SERVICES.start() | {
    "ALLOWED_HOSTS": "localhost,127.0.0.1,testserver",
    "DJANGO_SETTINGS_MODULE": "project.settings",  # for child processes, which find the servers in here
    "SECRET_KEY": "only-for-tests",
    "TIDELINE_ALLOW_COMMANDS": "1",
    "TIDELINE_PLAIN_HTTP": "1",
    "TIDELINE_STATE_DIR": str(FOLDER),  # a try-out in the same checkout has no say here
}

from project.settings import *  # noqa: E402, F403 - only now there is something to read

PASSWORD_HASHERS = ["django.contrib.auth.hashers.MD5PasswordHasher"]

"""The settings of a production: documented, complete, and nothing insecure among them by default."""

import json
import re

import pytest

from tests.deploy.documents import EMPTY, documented, environment, manage, read_by_the_code

ASK = """
import json
from django.conf import settings
names = {names}
print(json.dumps({{name: getattr(settings, name) for name in names}}))
"""
STRICT = {
    "ALLOWED_HOSTS": [],
    "CSRF_COOKIE_HTTPONLY": True,
    "CSRF_COOKIE_SECURE": True,
    "DEBUG": False,
    "SECURE_HSTS_SECONDS": 31_536_000,
    "SECURE_PROXY_SSL_HEADER": None,
    "SECURE_SSL_REDIRECT": True,
    "SESSION_COOKIE_HTTPONLY": True,
    "SESSION_COOKIE_SECURE": True,
    "TIDELINE_ALLOW_COMMANDS": False,
    "X_FRAME_OPTIONS": "DENY",
}
HOLES = {
    "ALLOWED_HOSTS": "",
    "DJANGO_DEBUG": "1",
    "SECRET_KEY": "short",
    "TIDELINE_PLAIN_HTTP": "1",
    "TIDELINE_SECRETS_KEYS": "short",
}
SAID_OF_HOLES = {
    "kit.E001",  # the keys of the secrets can be guessed
    "security.W004",  # no HSTS
    "security.W008",  # no redirect to HTTPS
    "security.W009",  # the secret key can be guessed
    "security.W012",  # the cookies of sessions go over plain HTTP
    "security.W016",  # and so do those against forged requests
    "security.W018",  # errors show code
    "security.W020",  # no host is allowed
}
FOR_DEPLOYMENT = ("check", "--deploy", "--fail-level", "WARNING")


@pytest.mark.slow
def test_the_documented_environment_passes_djangos_checks_for_production() -> None:
    checked = manage(*FOR_DEPLOYMENT, **environment())
    assert (checked.returncode, checked.stderr) == (0, "")
    assert checked.stdout == "System check identified no issues (0 silenced).\n"


@pytest.mark.slow
def test_holes_are_named_and_do_not_pass() -> None:
    checked = manage(*FOR_DEPLOYMENT, **environment() | HOLES)
    assert checked.returncode == 1
    assert set(re.findall(r"\((\w+\.[EW]\d+)\)", checked.stderr)) == SAID_OF_HOLES


def test_nothing_insecure_is_a_default() -> None:
    said = manage("shell", "--no-imports", "--command", ASK.format(names=list(STRICT)), SECRET_KEY="any")
    assert json.loads(said.stdout) == STRICT


def test_every_variable_that_is_read_stands_in_the_tables_and_no_other() -> None:
    assert set(documented()) == set(read_by_the_code())


def test_the_tables_name_the_defaults_of_the_code() -> None:
    code = {name: default for name, default in read_by_the_code().items() if default is not None}
    tables = {name: "" if default in EMPTY else default for name, default in documented().items() if name in code}
    assert tables == code


def test_the_code_and_the_procfile_are_read() -> None:
    code = read_by_the_code()
    assert code["SECURE_HSTS_SECONDS"] == "31536000"
    assert code["TIDELINE_QUOTA_EVENTS"] == "1"
    assert (code["PORT"], code["FLOWER_BASIC_AUTH"], code["EMAIL_PORT"]) == ("8000", "required", None)

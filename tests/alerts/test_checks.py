"""Settings of mail with which no letter could go out are refused at the start."""

import os
import subprocess
import sys

import pytest
from pytest_django import Settings

from alerts.checks import mail_is_encrypted_in_one_way
from project.celery import refuse_errors


@pytest.mark.parametrize(("tls", "ssl"), [(False, False), (True, False), (False, True)])
def test_a_server_is_asked_for_tls_in_one_way_or_not_at_all(settings: Settings, tls: bool, ssl: bool) -> None:
    settings.EMAIL_USE_TLS, settings.EMAIL_USE_SSL = tls, ssl
    assert mail_is_encrypted_in_one_way(None) == []


def test_both_ways_at_once_keep_a_process_from_starting(settings: Settings) -> None:
    settings.EMAIL_USE_TLS = settings.EMAIL_USE_SSL = True
    with pytest.raises(SystemExit, match="EMAIL_USE_TLS and EMAIL_USE_SSL are both on") as refused:
        refuse_errors()
    assert "port 587" in str(refused.value)


@pytest.mark.parametrize(
    ("environment", "port"),
    [
        ({}, "25"),
        ({"EMAIL_USE_TLS": "1"}, "587"),
        ({"EMAIL_USE_SSL": "1"}, "465"),
        ({"EMAIL_USE_SSL": "1", "EMAIL_PORT": "2465"}, "2465"),
    ],
)
def test_the_environment_says_which_server_and_the_way_of_tls_its_port(environment: dict[str, str], port: str) -> None:
    said = {"EMAIL_HOST": "mail.example", "EMAIL_HOST_USER": "me", "EMAIL_HOST_PASSWORD": "p", **environment}
    show = (
        "from project import settings as s; print(s.EMAIL_HOST, s.EMAIL_HOST_USER, s.EMAIL_HOST_PASSWORD, s.EMAIL_PORT)"
    )
    process = subprocess.run(
        [sys.executable, "-c", show], env=os.environ | said, capture_output=True, text=True, check=True
    )
    assert process.stdout.split() == ["mail.example", "me", "p", port]

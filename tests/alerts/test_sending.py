"""Sending one message: whatever the way does, what comes of it is a verdict, without an address in it."""

import json
from dataclasses import replace
from typing import Any

import pytest
from django.core import mail
from pytest_django import Settings

from alerts import sending
from alerts.digesting import message_of
from alerts.models import Event
from alerts.sending import send
from alerts.states import DeliveryOutcome, Severity, Telling
from tests.alerts.factories import make_channel
from tests.kit.outbound.receivers import answer, ok, read_request, receiver
from tests.scheduler.factories import NOW

pytestmark = pytest.mark.django_db

PATH = "/path-with-token?key=s3cret"
MESSAGE = message_of(
    Event(telling=Telling.OPENED, kind="run_failed", severity=Severity.WARNING, title="run 1", text="告警 🚨", at=NOW)
)


def outcome(address: str, **fields: Any) -> tuple[str, int | None]:
    verdict, status = send(make_channel(address=address, **fields), MESSAGE)
    assert "token" not in verdict.meaning
    assert "s3cret" not in verdict.meaning
    return verdict.outcome, status


@pytest.mark.parametrize(
    ("status", "expected"),
    [
        (b"200 OK", DeliveryOutcome.SENT),
        (b"302 Elsewhere", DeliveryOutcome.PERMANENT),
        (b"410 Gone", DeliveryOutcome.PERMANENT),
        (b"429 Too Often", DeliveryOutcome.RETRY),
        (b"503 Busy", DeliveryOutcome.RETRY),
    ],
)
def test_an_answer_is_judged(settings: Settings, status: bytes, expected: str) -> None:
    heard: list[bytes] = []
    with receiver(answer(ok(status=status), heard=heard)) as running:
        settings.TIDELINE_ALLOWED_HOSTS_INWARD = [f"127.0.0.1:{running.port}"]
        assert outcome(f"http://127.0.0.1:{running.port}{PATH}") == (expected, int(status[:3]))
    (request,) = heard
    assert json.loads(request.partition(b"\r\n\r\n")[2])["data"]["text"] == "告警 🚨"


def test_who_refuses_the_connection_has_not_taken_it(settings: Settings) -> None:
    with receiver(answer(ok())) as running:
        address = f"http://127.0.0.1:{running.port}{PATH}"
    settings.TIDELINE_ALLOWED_HOSTS_INWARD = ["127.0.0.1"]
    assert outcome(address) == (DeliveryOutcome.RETRY, None)


def test_of_who_does_not_answer_nobody_knows(settings: Settings, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sending, "TIMEOUT_SECONDS", 0.5)

    def hang(connection: Any) -> None:
        read_request(connection)
        connection.recv(1)

    with receiver(hang) as running:
        settings.TIDELINE_ALLOWED_HOSTS_INWARD = ["127.0.0.1"]
        assert outcome(f"http://127.0.0.1:{running.port}{PATH}") == (DeliveryOutcome.AMBIGUOUS, None)


@pytest.mark.parametrize(
    "address",
    [
        f"http://127.0.0.1{PATH}",
        f"http://127.1{PATH}",
        f"http://[::ffff:10.0.0.5]{PATH}",
        f"http://user:s3cret@example.org{PATH}",
        f"http://[example{PATH}",
        f"http://exam\u200bple.org{PATH}",
        f"ftp://example.org{PATH}",
        "",
    ],
)
def test_an_address_that_was_not_refused_when_it_was_saved_is_refused_now(address: str) -> None:
    assert outcome(address) == (DeliveryOutcome.PERMANENT, None)


@pytest.mark.parametrize(
    ("base", "url", "expected"),
    [
        ("https://tideline.example/", "/admin/1/", "https://tideline.example/admin/1/"),
        ("https://tideline.example", "//elsewhere.example/", "https://tideline.example//elsewhere.example/"),
        ("https://tideline.example", "https://elsewhere.example/", "https://elsewhere.example/"),
        ("https://tideline.example", "", ""),
        ("", "/admin/1/", ""),
    ],
)
def test_the_link_of_a_message_leads_to_the_control_panel_from_anywhere(
    settings: Settings, base: str, url: str, expected: str
) -> None:
    heard: list[bytes] = []
    settings.TIDELINE_URL = base
    with receiver(answer(ok(), heard=heard)) as running:
        settings.TIDELINE_ALLOWED_HOSTS_INWARD = ["127.0.0.1"]
        send(make_channel(address=f"http://127.0.0.1:{running.port}{PATH}"), replace(MESSAGE, url=url))
    (request,) = heard
    assert json.loads(request.partition(b"\r\n\r\n")[2])["data"]["url"] == expected


def test_a_letter_goes_to_each_recipient_and_one_that_cannot_be_written_is_a_verdict(settings: Settings) -> None:
    assert outcome("a@example.org, b@example.org", format="email") == (DeliveryOutcome.SENT, None)
    assert mail.outbox[0].to == ["a@example.org", "b@example.org"]
    settings.DEFAULT_FROM_EMAIL = "a@example.org\nBcc: c@example.org"
    assert outcome("a@example.org", format="email") == (DeliveryOutcome.PERMANENT, None)
    assert len(mail.outbox) == 1


def test_a_format_that_there_is_not_any_more_is_a_verdict() -> None:
    assert outcome("https://example.org/", format="pager") == (DeliveryOutcome.PERMANENT, None)


def test_a_service_of_apprise_in_a_private_network_is_not_called() -> None:
    heard: list[bytes] = []
    with receiver(answer(ok(), heard=heard)) as running:
        address = f"ntfy://127.0.0.1:{running.port}/topic-token"
        assert outcome(address, format="apprise") == (DeliveryOutcome.PERMANENT, None)
    assert heard == []


def test_a_service_of_apprise_that_is_allowed_is_called(settings: Settings) -> None:
    settings.TIDELINE_ALLOWED_HOSTS_INWARD = ["127.0.0.1"]
    heard: list[bytes] = []
    with receiver(answer(ok(), heard=heard)) as running:
        outcome(f"ntfy://127.0.0.1:{running.port}/topic-token", format="apprise")
    assert heard

"""Sending one message: whatever the way does, what comes of it is a verdict, without an address in it."""

import json
import socket
import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import replace
from datetime import timedelta
from typing import Any

import pytest
from django.core import mail
from django.db import connection
from pytest_django import Settings

from alerts import delivering, sending
from alerts.delivering import SENDER_LEASE
from alerts.digesting import message_of
from alerts.models import Event
from alerts.recording import raise_alert
from alerts.sending import send
from alerts.states import DeliveryOutcome, Severity, Telling
from project.kit.outbound.posting import FAREWELL_SECONDS
from tests.alerts.factories import make_channel, problem
from tests.kit.outbound.receivers import PATIENCE_SECONDS, answer, ok, read_request, receiver
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


def test_case_86_what_is_stored_of_a_failure_and_logged_holds_no_path_and_no_query(
    settings: Settings, caplog: pytest.LogCaptureFixture
) -> None:
    with receiver(answer(ok())) as running:
        address = f"https://127.0.0.1:{running.port}/services/T0/B0/tok-in-the-path?key=s3cret"
    settings.TIDELINE_ALLOWED_HOSTS_INWARD = ["127.0.0.1"]
    channel = make_channel(address=address, format="slack")
    raise_alert(problem(), now=NOW)
    delivering.serve(channel.pk, send=send, clock=lambda: NOW)
    with connection.cursor() as cursor:
        cursor.execute(
            "SELECT c::text, d::text, t::text FROM alerts_channel c, alerts_delivery d, alerts_deliverytry t"
        )
        stored = str(cursor.fetchall())
    assert stored.count("127.0.0.1 refuses the connection.") == 3
    for secret in ("tok-in-the-path", "s3cret"):
        assert secret not in stored + caplog.text


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


def test_settings_of_mail_that_contradict_each_other_are_a_verdict(settings: Settings) -> None:
    settings.EMAIL_BACKEND = "django.core.mail.backends.smtp.EmailBackend"
    settings.EMAIL_USE_TLS = settings.EMAIL_USE_SSL = True
    assert outcome("a@example.org", format="email") == (DeliveryOutcome.PERMANENT, None)


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


# --- e-mail through a server that takes its time -------------------------------------------------------------------


class MailServer:
    """Speaks SMTP until it is to drip: then it answers a byte at a time and never comes to an end.

    Attributes:
        letters: those that came whole.
        left: the other side has hung up.
    """

    def __init__(self, *, drips_at: bytes) -> None:
        self._drips_at = drips_at
        self.letters: list[bytes] = []
        self.left = threading.Event()

    def behave(self, connection: socket.socket) -> None:
        for line in self._lines(connection):
            word = line.split(b" ")[0].strip().upper()
            if word == self._drips_at:
                return self._drip(connection)
            connection.sendall(_REPLIES.get(word, b"250 ok\r\n"))

    def _lines(self, connection: socket.socket) -> Iterator[bytes]:
        yield b"GREETING"
        with connection.makefile("rb") as lines:
            for line in lines:
                yield line
                if line.upper().startswith(b"DATA"):
                    self.letters.append(b"".join(iter(lines.readline, b".\r\n")))
                    yield b"."

    def _drip(self, connection: socket.socket) -> None:
        connection.settimeout(0.05)
        while not self.left.is_set():
            connection.sendall(b"2")
            with suppress(TimeoutError):
                if not connection.recv(1000):
                    self.left.set()


_REPLIES = {b"GREETING": b"220 hello\r\n", b"DATA": b"354 go on\r\n", b"QUIT": b"221 bye\r\n"}


@contextmanager
def mail_server(settings: Settings, monkeypatch: pytest.MonkeyPatch, *, drips_at: bytes) -> Iterator[MailServer]:
    """Have letters go to such a server, with little time for each."""
    server = MailServer(drips_at=drips_at)
    monkeypatch.setattr(sending, "LETTER_SECONDS", 1.0)
    with receiver(server.behave) as running:
        settings.EMAIL_BACKEND = "django.core.mail.backends.smtp.EmailBackend"
        settings.EMAIL_HOST, settings.EMAIL_PORT = "127.0.0.1", running.port
        yield server
        server.left.set()


def test_a_letter_whose_receipt_drips_is_given_up_and_is_not_under_way_any_more(
    settings: Settings, monkeypatch: pytest.MonkeyPatch
) -> None:
    with mail_server(settings, monkeypatch, drips_at=b".") as server:
        assert outcome("a@example.org", format="email") == (DeliveryOutcome.AMBIGUOUS, None)
        assert server.left.wait(PATIENCE_SECONDS)
    assert len(server.letters) == 1


def test_a_letter_that_was_not_begun_in_time_is_certainly_not_sent(
    settings: Settings, monkeypatch: pytest.MonkeyPatch
) -> None:
    with mail_server(settings, monkeypatch, drips_at=b"GREETING") as server:
        assert outcome("a@example.org", format="email") == (DeliveryOutcome.RETRY, None)
    assert server.letters == []


def test_a_letter_that_was_taken_is_sent_though_the_farewell_drips(
    settings: Settings, monkeypatch: pytest.MonkeyPatch
) -> None:
    with mail_server(settings, monkeypatch, drips_at=b"QUIT") as server:
        assert outcome("a@example.org", format="email") == (DeliveryOutcome.SENT, None)
        assert server.left.wait(PATIENCE_SECONDS)


def test_no_message_outlasts_the_lease_of_its_sender() -> None:
    longest = max(sending.TIMEOUT_SECONDS + FAREWELL_SECONDS, sending.LETTER_SECONDS)
    assert timedelta(seconds=1.25 * longest) < SENDER_LEASE

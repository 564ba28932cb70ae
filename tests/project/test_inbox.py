"""The inbox of the try-out takes what its channel has signed, and shows the latest."""

import importlib
from collections.abc import Iterator
from datetime import datetime, timedelta

import pytest
from django.http import HttpResponse
from django.test import Client
from django.urls import clear_url_caches
from pytest_django import Settings

from alerts.channels.base import Endpoint, Request
from alerts.channels.generic import Generic
from alerts.messages import Message
from alerts.states import Severity, Telling
from project import inbox, urls
from project.kit.clock import database_now
from project.models import InboxMessage
from tests.panel import chief, text_of
from tests.scheduler.admin.desk import person

pytestmark = pytest.mark.django_db

URL = "http://127.0.0.1:8000/inbox/"
SECRET, ANOTHER = "whsec_" + "QUFB" * 8, "whsec_" + "QkJC" * 8
HOME = "/admin/"


@pytest.fixture(autouse=True)
def _with_an_inbox(settings: Settings) -> Iterator[None]:
    settings.TIDELINE_INBOX_SECRET = SECRET
    have_inbox(settings, URL)
    yield
    have_inbox(settings, "")


def have_inbox(settings: Settings, url: str) -> None:
    settings.TIDELINE_INBOX_URL = url
    importlib.reload(urls)
    clear_url_caches()


def written(number: int = 1, *, now: datetime | None = None, secret: str = SECRET, text: str = "It failed.") -> Request:
    """Return the message as the channel writes it."""
    now = now or database_now()
    message = Message(
        event_id=f"event-{number}",
        telling=Telling.OPENED,
        kind="run_failed",
        severity=Severity.CRITICAL,
        title=f"<b>run {number}</b>",
        text=text,
        at=now,
        url="https://tideline.example/admin/",
    )
    return Generic().render(message, Endpoint(URL, (secret,)), now=now)


def post(request: Request, body: bytes | None = None) -> HttpResponse:
    headers = {name: value for name, value in request.headers.items() if name.lower() != "content-type"}
    content = request.body if body is None else body
    client = Client(enforce_csrf_checks=True)
    return client.post("/inbox/", content, content_type="application/json", headers=headers)


def signed(body: bytes) -> HttpResponse:
    """Post any body, rightly signed."""
    headers = inbox.signed_headers("event-1", body, [SECRET], now=database_now())
    return Client().post("/inbox/", body, content_type="application/json", headers=dict(headers))


def test_what_the_channel_signed_is_taken_and_shown_to_whoever_may_see_alerts() -> None:
    assert post(written()).status_code == 200
    page = chief().get("/inbox/")
    assert "opened critical <b>run 1</b> It failed." in text_of(page)
    assert '<a href="https://tideline.example/admin/">' in page.content.decode()
    assert "<b>" not in page.content.decode()


def test_the_page_refreshes_itself_by_its_fragment() -> None:
    post(written())
    client = chief()
    assert f'data-refresh="{inbox.REFRESH_SECONDS}"' in client.get("/inbox/").content.decode()
    assert client.get("/inbox/?fragment").content.startswith(b"\n<article")


@pytest.mark.parametrize("minutes", [-6, 6])
def test_a_message_whose_time_is_far_from_now_is_refused(minutes: int) -> None:
    assert post(written(now=database_now() + timedelta(minutes=minutes))).status_code == 401
    assert not InboxMessage.objects.exists()


@pytest.mark.parametrize(
    "headers",
    [
        {"webhook-signature": ""},
        {"webhook-signature": "v1,AAAA v1,ä"},
        {"webhook-id": "another"},
        {"webhook-id": "with.dot"},
        {"webhook-timestamp": ""},
        {"webhook-timestamp": "-1"},
        {"webhook-timestamp": "9" * 400},
    ],
)
def test_a_message_whose_signature_does_not_fit_is_refused(headers: dict[str, str]) -> None:
    request = written()
    assert post(Request(request.url, request.body, {**request.headers, **headers})).status_code == 401
    assert not InboxMessage.objects.exists()


def test_another_secret_another_body_and_a_secret_that_is_not_there_are_refused(settings: Settings) -> None:
    request = written()
    assert post(written(secret=ANOTHER)).status_code == 401
    assert post(request, request.body + b" ").status_code == 401
    settings.TIDELINE_INBOX_SECRET = ""
    assert post(request).status_code == 401


def test_one_of_several_signatures_is_enough() -> None:
    body, now = written().body, database_now()
    headers = inbox.signed_headers("event-1", body, [ANOTHER, SECRET], now=now)
    assert inbox.is_signed(headers, body, SECRET, now=now)


def test_a_body_that_is_too_large_is_refused_whoever_signed_it() -> None:
    assert signed(b" " * inbox.LARGEST_BODY).status_code == 400
    assert signed(b" " * (inbox.LARGEST_BODY + 1)).status_code == 413


@pytest.mark.parametrize("body", [b"", b"\xff", b"[]", b'{"data": {}}', b'{"data": {"id": "1", "telling": "sung"}}'])
def test_a_body_that_is_no_alert_is_refused(body: bytes) -> None:
    assert signed(body).status_code == 400
    assert not InboxMessage.objects.exists()


def test_a_character_that_no_column_takes_is_left_out() -> None:
    body = written().body.replace(b"It failed.", b"It \\u0000failed.")
    assert signed(body).status_code == 200
    assert InboxMessage.objects.get().text == "It failed."


def test_a_message_that_comes_again_is_the_same() -> None:
    assert [post(written()).status_code, post(written()).status_code] == [200, 200]
    assert InboxMessage.objects.count() == 1


def test_only_the_latest_are_kept(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(inbox, "KEPT", 3)
    for number in range(5):
        post(written(number))
    assert list(InboxMessage.objects.order_by("pk").values_list("event_id", flat=True)) == [
        "event-2",
        "event-3",
        "event-4",
    ]


def test_nobody_looks_in_without_a_login_and_the_right_to_see_alerts() -> None:
    assert Client().get("/inbox/").headers["location"].startswith("/admin/login/")
    assert person().get("/inbox/").status_code == 403
    assert person("alerts.view_alert").get("/inbox/").status_code == 200
    assert chief().put("/inbox/").status_code == 405


def test_the_home_page_leads_to_it_and_without_a_tryout_there_is_none(settings: Settings) -> None:
    client = chief()
    assert 'href="/inbox/"' in client.get(HOME).content.decode()
    have_inbox(settings, "")
    assert 'href="/inbox/"' not in client.get(HOME).content.decode()
    assert post(written()).status_code == client.get("/inbox/").status_code == 404

"""Tokens in the control panel: made and shown once, for oneself, and revoked."""

import re
from datetime import timedelta
from typing import Any

import pytest
from django.contrib.admin.models import LogEntry
from django.contrib.auth.models import User
from django.http import HttpResponse
from django.test import Client
from django.urls import reverse

from project.kit.api import tokens
from project.kit.api.models import ApiToken
from project.kit.clock import database_now
from tests.kit.api.caller import Program, chief, problem_of, token_of
from tests.panel import asked_by
from tests.people import user_with

pytestmark = pytest.mark.django_db

MAKES_TOKENS = ("project.add_apitoken", "project.view_apitoken", "project.change_apitoken", "alerts.view_alert")
ADD = "/admin/project/apitoken/add/"
LIST = "/admin/project/apitoken/"


def logged_in(user: User) -> Client:
    """Return the browser of somebody."""
    client = Client()
    client.force_login(user)
    return client


def colleague() -> User:
    """Return somebody of the staff who may make tokens, and look at alerts."""
    return user_with(*MAKES_TOKENS, is_staff=True)


def make(maker: User, **said: Any) -> HttpResponse:
    """Make a token in the panel."""
    expires_at = f"{database_now() + timedelta(days=1):%Y-%m-%dT%H:%M}"
    return logged_in(maker).post(ADD, {"name": "deploy", "scopes": "read", "expires_at": expires_at} | said)


def text_in(response: HttpResponse) -> str:
    """Return the token that a page shows."""
    found = re.search(r"tideline_[\w-]{43}", response.content.decode())
    assert found
    return found[0]


def test_a_token_is_shown_once_and_works() -> None:
    user = colleague()
    made = make(user)
    text = text_in(made)
    assert "no-store" in made["Cache-Control"]
    assert Program(text).get("alerts/").status_code == 200
    client, token = logged_in(user), ApiToken.objects.get()
    page = client.get(reverse("admin:project_apitoken_change", args=[token.pk])).content.decode()
    for shown in (page, client.get(LIST).content.decode()):
        assert token.prefix in shown
        assert text not in shown
        assert token.digest not in shown
    assert LogEntry.objects.get().object_repr == "deploy"


def test_the_form_has_one_way_to_save_which_shows_the_token() -> None:
    page = logged_in(colleague()).get(ADD).content.decode()
    assert re.findall(r'type="submit"[^>]*name="(\w+)"', page) == ["_save"]


def test_one_makes_tokens_for_oneself_whatever_the_form_says() -> None:
    user = colleague()
    make(user, user=chief().pk)
    assert ApiToken.objects.get().user == user


def test_a_superuser_makes_tokens_for_others() -> None:
    user = colleague()
    make(chief(), user=user.pk)
    assert ApiToken.objects.get().user == user


def test_one_sees_and_revokes_only_ones_own_tokens() -> None:
    token_of(chief())
    theirs, client = ApiToken.objects.get(), logged_in(colleague())
    assert theirs.prefix not in client.get(LIST).content.decode()
    address = reverse("admin:project_apitoken_action", args=[theirs.pk, "revoke"])
    assert client.post(address, {"reason": ""}).status_code == 404
    assert ApiToken.objects.get().revoked_at is None


def test_a_token_is_revoked_after_a_confirmation_and_lets_nobody_in() -> None:
    user = colleague()
    text, client = token_of(user), logged_in(user)
    address = reverse("admin:project_apitoken_action", args=[ApiToken.objects.get().pk, "revoke"])
    client.post(address, asked_by(client.get(address), reason="Leaked"))
    assert "was revoked" in problem_of(Program(text).get("alerts/"), 401)["detail"]
    assert "Leaked" in LogEntry.objects.get().change_message


@pytest.mark.parametrize(
    ("said", "sentence"),
    [
        ({"scopes": "read admin"}, "“admin” is not known."),
        ({"scopes": ""}, "This field is required."),
        ({"expires_at": "2020-01-01T00:00"}, "This is past."),
        ({"expires_at": ""}, "This field is required."),
    ],
)
def test_a_token_that_would_not_be_right_is_not_made(said: dict[str, str], sentence: str) -> None:
    response = make(colleague(), **said)
    assert sentence in response.content.decode()
    assert not ApiToken.objects.exists()


def test_scopes_are_read_with_spaces_or_commas_between() -> None:
    make(colleague(), scopes="alerts.handle_alert, read  read")
    assert ApiToken.objects.get().scopes == ["alerts.handle_alert", "read"]


def test_nobody_deletes_or_changes_a_token() -> None:
    token_of(chief())
    token, client = ApiToken.objects.get(), logged_in(chief())
    page = reverse("admin:project_apitoken_change", args=[token.pk])
    assert client.post(page, {"scopes": "write"}).status_code == 405
    assert client.post(reverse("admin:project_apitoken_delete", args=[token.pk])).status_code == 403
    assert tokens.revoke(token.pk, database_now())

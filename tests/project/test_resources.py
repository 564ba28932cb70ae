"""Tokens and the audit log over the API: one's own tokens alone, shown once, revoked; what was done, and why."""

import json
from datetime import timedelta
from typing import Any

import pytest
from django.contrib.admin.models import LogEntry
from django.contrib.auth.models import User
from django.http import HttpResponse
from django.test import Client

from project.kit.api.models import ApiToken
from project.kit.clock import database_now
from tests.alerts.admin.desk import make_alert
from tests.kit.api.caller import Program, chief, chiefs_program, problem_of, program, token_of
from tests.people import user_with

pytestmark = pytest.mark.django_db

MAKES_TOKENS = ("project.add_apitoken", "project.view_apitoken", "project.change_apitoken", "alerts.view_alert")


def colleague() -> User:
    """Return somebody who may make tokens, and look at alerts."""
    return user_with(*MAKES_TOKENS, is_staff=True)


def make(maker: User, **said: Any) -> HttpResponse:
    """Make a token with the session of somebody."""
    client, expires_at = Client(), database_now() + timedelta(days=1)
    client.force_login(maker)
    body = {"name": "deploy", "scopes": ["read"], "expires_at": expires_at.isoformat()} | said
    return client.post("/api/api-tokens/", json.dumps(body), "application/json")


# --- tokens ----------------------------------------------------------------------------------------------------------


def test_a_token_is_shown_once_and_works() -> None:
    user = colleague()
    made = make(user)
    text = made.json()["token"]
    assert (made.status_code, "no-store" in made["Cache-Control"]) == (201, True)
    program = Program(text)
    assert program.get("alerts/").status_code == 200
    shown = program.get("api-tokens/").json()["results"]
    assert [(row["name"], row["good"], row["user"]) for row in shown] == [("deploy", True, user.username)]
    assert text not in json.dumps(shown)
    assert text not in json.dumps(list(LogEntry.objects.values("change_message", "object_repr")))


def test_a_token_makes_no_other_tokens() -> None:
    said = {"name": "next", "scopes": ["write"], "expires_at": "2999-01-01T00:00:00Z"}
    problem = problem_of(chiefs_program().post("api-tokens/", said), 403)
    assert "A token makes no other tokens." in problem["detail"]
    assert ApiToken.objects.count() == 1


def test_a_foreign_page_makes_no_token_with_somebodys_session() -> None:
    client = Client(enforce_csrf_checks=True)
    client.force_login(chief())
    problem_of(client.post("/api/api-tokens/", {}, "application/json"), 403)


@pytest.mark.parametrize(
    ("said", "field", "sentence"),
    [
        ({"scopes": ["read", "admin"]}, "scopes", "“admin” is not known."),
        ({"scopes": []}, "scopes", "may not be empty"),
        ({"scopes": "read"}, "scopes", "Write a list."),
        ({"expires_at": "2020-01-01T00:00:00Z"}, "expires_at", "This is past."),
        ({"name": ""}, "name", "It may not be empty."),
    ],
)
def test_a_token_that_would_not_be_right_is_not_made(said: dict[str, Any], field: str, sentence: str) -> None:
    [error] = problem_of(make(colleague(), **said), 400)["errors"]
    assert error["field"] == field
    assert sentence in error["sentence"]
    assert not ApiToken.objects.exists()


def test_one_makes_tokens_for_oneself_whatever_is_said() -> None:
    user, boss = colleague(), chief()
    make(user, user=boss.username)
    assert ApiToken.objects.get().user == user


def test_one_sees_and_revokes_only_ones_own_tokens() -> None:
    user = colleague()
    mine = Program(token_of(user))
    token_of(user_with())
    theirs = ApiToken.objects.latest("id")
    assert [row["id"] for row in mine.get("api-tokens/").json()["results"]] != [theirs.pk]
    for boss in (mine, chiefs_program()):
        problem_of(boss.get(f"api-tokens/{theirs.pk}/"), 404)
        problem_of(boss.post(f"api-tokens/{theirs.pk}/revoke/", {}), 404)
    assert ApiToken.objects.get(pk=theirs.pk).revoked_at is None


def test_a_token_that_leaked_revokes_itself() -> None:
    user = colleague()
    leaked, token = Program(token_of(user)), ApiToken.objects.get()
    shown = leaked.post(f"api-tokens/{token.pk}/revoke/", {"reason": "In a log"}).json()
    assert (shown["good"], shown["revoked_at"] is not None) == (False, True)
    assert "was revoked" in problem_of(leaked.get("alerts/"), 401)["detail"]
    assert "In a log" in LogEntry.objects.get().change_message


# --- the audit log ---------------------------------------------------------------------------------------------------


def test_the_audit_log_says_who_did_what_and_why() -> None:
    user, alert = chief(), make_alert()
    Program(token_of(user)).post(f"alerts/{alert.pk}/acknowledge/", {"reason": "On it"})
    for query in (f"user={user.username.replace(' ', '%20')}", "app=alerts&model=alert", f"object_id={alert.pk}", ""):
        [entry] = chiefs_program().get(f"audit-log/?{query}").json()["results"]
        assert (entry["user"], entry["did"], entry["kind"]) == (user.username, "changed", "alerts.alert"), query
        assert entry["what"] == "Acknowledge: On it. Token: script."
    assert chiefs_program().get("audit-log/?app=quotas").json()["results"] == []


def test_the_audit_log_is_read_by_those_who_may_and_never_written() -> None:
    make_alert()
    assert program("admin.view_logentry").get("audit-log/").status_code == 200
    problem_of(program("alerts.view_alert").get("audit-log/"), 403)
    problem_of(chiefs_program().post("audit-log/", {}), 405)

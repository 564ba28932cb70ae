"""Who is let in: tokens that are good, as far as their scopes go, and sessions that prove that they ask themselves."""

import hashlib
import re
from datetime import timedelta

import pytest
from django.contrib.auth.models import User
from django.db import connection
from django.test import Client
from django.test.utils import CaptureQueriesContext

from project.kit.api import tokens
from project.kit.api.models import ApiToken
from project.kit.clock import database_now
from tests.alerts.admin.desk import make_alert
from tests.kit.api.caller import Program, chief, problem_of, token_of
from tests.people import user_with

pytestmark = pytest.mark.django_db


def test_a_token_acts_as_its_user() -> None:
    assert Program(token_of(user_with("alerts.view_alert"))).get("alerts/").status_code == 200
    problem_of(Program(token_of(user_with("alerts.view_silence"))).get("alerts/"), 403)


def test_only_the_digest_of_a_token_is_stored() -> None:
    text = token_of(chief())
    token = ApiToken.objects.get()
    assert token.digest == hashlib.sha256(text.encode()).hexdigest()
    assert text.startswith(token.prefix)
    assert len(text) - len(token.prefix) > 30
    assert text not in str(ApiToken.objects.values())


def test_no_two_tokens_are_the_same() -> None:
    user = chief()
    assert token_of(user) != token_of(user)


@pytest.mark.parametrize(
    "change", [lambda text: text[:-1], lambda text: text + "x", str.lower, lambda text: "", lambda text: "é"]
)
def test_a_token_that_is_not_known_is_refused_and_says_no_more(change: object) -> None:
    wrong = change(token_of(chief()))  # type: ignore[operator]
    response = Program(wrong or " ").get("alerts/")
    assert problem_of(response, 401)["detail"] == "This token is not known. Check that it was copied as a whole."
    assert response["WWW-Authenticate"] == 'Bearer realm="Tideline"'


def test_an_expired_token_is_refused_and_says_so() -> None:
    text = token_of(chief(), days=-0.001)
    assert "has expired" in problem_of(Program(text).get("alerts/"), 401)["detail"]


def test_a_revoked_token_is_refused_and_says_so() -> None:
    text = token_of(chief())
    token = ApiToken.objects.get()
    assert tokens.revoke(token.pk, database_now())
    assert not tokens.revoke(token.pk, database_now())
    assert "was revoked" in problem_of(Program(text).get("alerts/"), 401)["detail"]


def test_the_token_of_a_user_who_has_left_is_refused() -> None:
    user = chief()
    text = token_of(user)
    User.objects.filter(pk=user.pk).update(is_active=False)
    assert "not active" in problem_of(Program(text).get("alerts/"), 401)["detail"]


def test_a_token_for_reading_may_look_and_not_act() -> None:
    script, alert = Program(token_of(chief(), "read")), make_alert()
    assert script.get(f"alerts/{alert.pk}/").status_code == 200
    problem = problem_of(script.post(f"alerts/{alert.pk}/acknowledge/"), 403)
    assert problem["detail"] == "You may do this, but your token may not. It needs the scope “alerts.handle_alert”."


def test_a_token_for_single_permissions_may_do_those_alone() -> None:
    script = Program(token_of(chief(), "alerts.view_alert", "alerts.handle_alert"))
    assert script.post(f"alerts/{make_alert().pk}/acknowledge/").status_code == 200
    problem_of(script.get("channels/"), 403)


def test_a_scope_gives_no_permission_that_the_user_lacks() -> None:
    script = Program(token_of(user_with("alerts.view_alert"), "write", "alerts.handle_alert"))
    problem = problem_of(script.post(f"alerts/{make_alert().pk}/acknowledge/"), 403)
    assert problem["detail"] == "You may not do this. It needs the permission “alerts.handle_alert”."


def test_the_use_of_a_token_is_noted_at_most_once_a_minute() -> None:
    script = Program(token_of(chief()))
    script.get("alerts/")
    token = ApiToken.objects.get()
    assert token.last_used_at is not None
    with CaptureQueriesContext(connection) as captured:
        script.get("alerts/")
    assert not [query for query in captured if query["sql"].startswith("UPDATE")]
    ApiToken.objects.update(last_used_at=token.last_used_at - timedelta(minutes=1))
    script.get("alerts/")
    assert ApiToken.objects.get().last_used_at >= token.last_used_at  # type: ignore[operator]


# --- sessions --------------------------------------------------------------------------------------------------------


def test_a_session_may_look() -> None:
    client = Client()
    client.force_login(chief())
    assert client.get("/api/alerts/").status_code == 200


def test_a_session_that_changes_something_needs_its_csrf_token() -> None:
    client, alert = Client(enforce_csrf_checks=True), make_alert()
    client.force_login(chief())
    address = f"/api/alerts/{alert.pk}/acknowledge/"
    assert "CSRF" in problem_of(client.post(address, {}, "application/json"), 403)["detail"]
    (csrf,) = re.findall(r'"X-CSRFTOKEN"\] = "(\w+)"', client.get("/api/?script=").content.decode())  # as the page does
    assert client.post(address, {}, "application/json", headers={"X-CSRFToken": csrf}).status_code == 200


def test_nobody_is_let_in_without_either() -> None:
    problem = problem_of(Program().get("alerts/"), 401)
    assert "send a token" in problem["detail"]
    problem_of(Client(headers={"Authorization": "Basic YTpi"}).get("/api/alerts/"), 401)

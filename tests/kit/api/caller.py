"""Programs and people that call the API in tests."""

import json
from datetime import timedelta
from typing import Any

from django.contrib.auth.models import User
from django.db import connection
from django.http import HttpResponse
from django.test import Client
from django.test.utils import CaptureQueriesContext

from project.kit.api import tokens
from project.kit.api.models import ApiToken
from project.kit.clock import database_now
from tests.people import user_with


def chief() -> User:
    """Make a user who may do everything."""
    return user_with(is_superuser=True, is_staff=True)


def token_of(user: User, *scopes: str, days: float = 1) -> str:
    """Make a token for the user, by default with the scope `write`, and return its text."""
    now = database_now()
    token = ApiToken(user=user, name="script", scopes=scopes or ["write"], expires_at=now + timedelta(days=days))
    return tokens.issue(token, now=now)


class Program:
    """Calls the API with a token, and speaks JSON."""

    def __init__(self, token: str | None = None) -> None:
        self.client = Client()
        self.headers = {"Authorization": f"Bearer {token}"} if token else {}

    def get(self, path: str, **headers: str) -> HttpResponse:
        return self.client.get(f"/api/{path}", headers=self.headers | _spelled(headers))

    def post(self, path: str, body: Any = None, **headers: str) -> HttpResponse:
        return self.send("post", path, body, **headers)

    def patch(self, path: str, body: Any, **headers: str) -> HttpResponse:
        return self.send("patch", path, body, **headers)

    def send(self, method: str, path: str, body: Any = None, **headers: str) -> HttpResponse:
        """Send a body: bytes as they are, nothing at all, or JSON."""
        said = body if isinstance(body, bytes) else b"" if body is None else json.dumps(body).encode()
        given = self.headers | _spelled(headers)
        return self.client.generic(method.upper(), f"/api/{path}", said, "application/json", headers=given)


def program(*permissions: str) -> Program:
    """Return a program of a user who has these permissions."""
    return Program(token_of(user_with(*permissions)))


def chiefs_program() -> Program:
    """Return a program that may do everything."""
    return Program(token_of(chief()))


def problem_of(response: HttpResponse, status: int) -> dict[str, Any]:
    """Return the problem document of a refusal, which has to be one."""
    assert response.status_code == status, response.content
    assert response["Content-Type"] == "application/problem+json"
    document: dict[str, Any] = json.loads(response.content)
    assert document["status"] == status
    assert document["title"]
    assert document["detail"]
    return document


def _spelled(headers: dict[str, str]) -> dict[str, str]:
    """Return the headers by their names: `if_match` is If-Match."""
    return {name.replace("_", "-"): value for name, value in headers.items()}


def queries_of(program: Program, path: str) -> list[str]:
    """Return the SQL of a request by a program whose token was used a moment ago."""
    program.get(path)
    with CaptureQueriesContext(connection) as captured:
        assert program.get(path).status_code == 200
    return [query["sql"] for query in captured]

"""What each answer says to the browser about what a page may do, and that our pages need no more."""

import re
from pathlib import Path

import pytest
from django.conf import settings
from django.contrib.auth import password_validation
from django.contrib.auth.models import User
from django.core.exceptions import ValidationError
from django.test import Client
from pytest_django import Settings

from tests.kit.api.caller import token_of
from tests.panel import chief
from tests.people import user_with
from tests.project.metrics.scraping import ADDRESS, TOKEN

ROOT = Path(__file__).resolve().parents[2]
TEMPLATES = sorted((ROOT / "project" / "templates").rglob("*.html"))
OF_A_BROWSER = {
    "X-Frame-Options": "DENY",
    "X-Content-Type-Options": "nosniff",
    "Referrer-Policy": "same-origin",
    "Cross-Origin-Opener-Policy": "same-origin",
}


def policy(address: str, client: Client | None = None) -> dict[str, list[str]]:
    """Return the directives that an answer carries."""
    header = (client or Client()).get(address)["Content-Security-Policy"]
    return {words[0]: words[1:] for words in (part.split() for part in header.split(";"))}


@pytest.mark.django_db
@pytest.mark.parametrize("address", ["/admin/login/", "/healthz", "/api/nothing/", "/nowhere/"])
def test_every_answer_lets_the_page_load_and_execute_only_what_is_ours(address: str) -> None:
    found = policy(address)
    assert found["default-src"] == found["base-uri"] == found["frame-ancestors"] == ["'none'"]
    assert found["script-src"] == found["style-src"] == found["form-action"] == ["'self'"]
    assert "unsafe" not in str(found)


@pytest.mark.django_db
def test_the_page_of_the_api_alone_may_write_styles_and_executes_nothing_inline() -> None:
    found = policy("/api/", chief())
    assert found["style-src"] == ["'self'", "'unsafe-inline'"]
    assert found["script-src"] == ["'self'"]


@pytest.mark.django_db
@pytest.mark.parametrize("address", ["/admin/login/", "/api/nothing/"])
def test_browsers_are_told_to_be_strict(address: str) -> None:
    headers = Client().get(address).headers
    assert {name: headers[name] for name in OF_A_BROWSER} == OF_A_BROWSER


@pytest.mark.parametrize("file", TEMPLATES, ids=lambda file: str(file.relative_to(ROOT)))
def test_no_page_of_ours_has_scripts_or_styles_within_it(file: Path) -> None:
    text = re.sub(r"{#.*?#}", "", file.read_text())
    assert re.findall(r"<script(?![^>]*\bsrc=)[^>]*>|<style|\sstyle=|\son[a-z]+=[\"']|javascript:", text) == []


def test_the_pages_are_looked_at() -> None:
    assert ROOT / "project" / "templates" / "admin" / "index.html" in TEMPLATES


@pytest.mark.parametrize("password", ["short7!", "password1234", "123456789012345", "ann@example"])
def test_a_password_that_is_easily_guessed_is_refused(password: str) -> None:
    with pytest.raises(ValidationError):
        password_validation.validate_password(password, User(username="ann@example"))


@pytest.fixture
def over_plain_http(settings: Settings) -> Client:
    """A production, asked without TLS."""
    settings.PLAIN_HTTP, settings.SECURE_SSL_REDIRECT = False, True
    settings.SECURE_REDIRECT_EXEMPT = [*settings.SECURE_REDIRECT_EXEMPT, r"^metrics$"]
    settings.TIDELINE_METRICS_TOKEN = TOKEN
    return Client()


@pytest.mark.django_db
def test_over_plain_http_the_metrics_are_read_with_the_token_that_opens_nothing_else(over_plain_http: Client) -> None:
    assert over_plain_http.get(ADDRESS, headers={"Authorization": f"Bearer {TOKEN}"}).status_code == 200
    token = token_of(user_with(is_superuser=True), "read")
    assert over_plain_http.get(ADDRESS, headers={"Authorization": f"Bearer {token}"}).status_code == 401
    assert over_plain_http.get("/api/alerts/").status_code == 301


def test_without_that_token_the_metrics_are_redirected_as_all_else() -> None:
    assert settings.SECURE_REDIRECT_EXEMPT == [r"^healthz$", r"^readyz$"]

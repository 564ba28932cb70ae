"""Wrong passwords have a limit, for each name from each address, and the address is not the caller's to choose."""

from datetime import timedelta
from typing import Any

import pytest
from axes.models import AccessAttempt
from django.conf import settings as now_set
from django.contrib.auth.models import User
from django.http import HttpResponse
from django.test import Client, RequestFactory
from django.urls import reverse
from pytest_django import Settings

from project.logins import address_of

pytestmark = pytest.mark.django_db
HTTPS = ("HTTP_X_FORWARDED_PROTO", "https")


@pytest.fixture(autouse=True)
def person() -> User:
    return User.objects.create_superuser("ann", password="the right one")


def log_in(password: str, *, name: str = "ann", **meta: Any) -> HttpResponse:
    return Client().post(reverse("admin:login"), {"username": name, "password": password}, **meta)


def fail(times: int, **options: Any) -> None:
    for _ in range(times):
        log_in("a wrong one", **options)


def is_in(response: HttpResponse) -> bool:
    return response.status_code == 302


def test_after_five_wrong_passwords_not_even_the_right_one_is_heard() -> None:
    fail(4)
    assert log_in("a wrong one").status_code == 429
    refused = log_in("the right one")
    assert refused.status_code == 429
    assert "Try again in 15 minutes." in refused.content.decode()


def test_four_wrong_passwords_and_the_right_one_begin_the_count_anew() -> None:
    fail(4)
    assert is_in(log_in("the right one"))
    fail(4)
    assert is_in(log_in("the right one"))


def test_others_at_the_same_address_and_the_same_person_elsewhere_come_in() -> None:
    User.objects.create_superuser("ben", password="the right one")
    fail(6)
    assert is_in(log_in("the right one", name="ben"))
    assert is_in(log_in("the right one", REMOTE_ADDR="192.0.2.7"))


def test_the_refusal_ends_by_itself_whatever_was_tried_meanwhile() -> None:
    fail(9)
    AccessAttempt.objects.update(attempt_time=AccessAttempt.objects.get().attempt_time - now_set.AXES_COOLOFF_TIME)
    assert is_in(log_in("the right one"))


def test_behind_a_proxy_the_address_is_the_one_that_the_proxy_wrote(settings: Settings) -> None:
    settings.SECURE_PROXY_SSL_HEADER = HTTPS
    for number in range(4):
        fail(1, HTTP_X_FORWARDED_FOR=f"203.0.113.{number}, 198.51.100.9")
    assert log_in("a wrong one", HTTP_X_FORWARDED_FOR="203.0.113.77, 198.51.100.9").status_code == 429
    assert is_in(log_in("the right one", HTTP_X_FORWARDED_FOR="198.51.100.8"))


def test_without_a_proxy_the_header_is_nobodys_word() -> None:
    request = RequestFactory().get("/", REMOTE_ADDR="192.0.2.7", headers={"X-Forwarded-For": "203.0.113.1"})
    assert address_of(request) == "192.0.2.7"


def test_sessions_end_after_a_night_on_duty() -> None:
    assert timedelta(seconds=now_set.SESSION_COOKIE_AGE) == timedelta(hours=12)

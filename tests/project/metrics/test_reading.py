"""Who may read the metrics, and in which format."""

import pytest
from django.contrib.auth.models import User
from django.db import OperationalError
from django.test import Client
from prometheus_client.openmetrics.parser import text_string_to_metric_families as open_metrics
from pytest_django import Settings

from project.metrics import collecting
from project.metrics.views import NEEDED
from tests.kit.api.caller import problem_of, token_of
from tests.people import user_with
from tests.project.metrics.scraping import ADDRESS, TOKEN

pytestmark = pytest.mark.django_db


def status_with(token: str) -> int:
    return Client().get(ADDRESS, headers={"Authorization": f"Bearer {token}"}).status_code


def test_by_default_nobody_who_is_unknown_reads_them() -> None:
    response = Client().get(ADDRESS)
    problem_of(response, 401)
    assert response["WWW-Authenticate"].startswith("Bearer")
    assert status_with("") == 401


def test_the_token_of_the_settings_reads_them_and_nothing_else(settings: Settings) -> None:
    settings.TIDELINE_METRICS_TOKEN = TOKEN
    assert status_with(TOKEN) == 200
    assert status_with(f"{TOKEN}s") == 401
    assert Client().get("/api/alerts/", headers={"Authorization": f"Bearer {TOKEN}"}).status_code == 401


def test_a_token_for_looking_reads_them_where_its_user_may_look_at_all_of_it() -> None:
    assert status_with(token_of(user_with(*NEEDED), "read")) == 200
    assert status_with(token_of(user_with(*NEEDED), "alerts.handle_alert")) == 403
    for permission in NEEDED:
        assert status_with(token_of(user_with(*(set(NEEDED) - {permission})), "read")) == 403


def test_whoever_is_logged_in_reads_them_with_the_same_permissions() -> None:
    client = Client()
    client.force_login(user_with(*NEEDED))
    assert client.get(ADDRESS).status_code == 200
    client.force_login(User.objects.create_user("somebody", is_staff=True))
    assert client.get(ADDRESS).status_code == 403


def test_reading_is_all_that_can_be_done(settings: Settings) -> None:
    settings.TIDELINE_METRICS_TOKEN = TOKEN
    assert Client().post(ADDRESS, headers={"Authorization": f"Bearer {TOKEN}"}).status_code == 405


def test_open_metrics_is_spoken_to_whoever_asks_for_it(settings: Settings) -> None:
    settings.TIDELINE_METRICS_TOKEN = TOKEN
    accepted = "application/openmetrics-text;version=1.0.0,text/plain;version=0.0.4;q=0.5,*/*;q=0.1"
    response = Client().get(ADDRESS, headers={"Authorization": f"Bearer {TOKEN}", "Accept": accepted})
    assert response["Content-Type"].startswith("application/openmetrics-text")
    names = {family.name for family in open_metrics(response.content.decode())}
    assert {"tideline_runs", "tideline_scans"} <= names


def test_without_the_database_a_scrape_fails_and_says_nothing_of_where_it_is(
    settings: Settings, monkeypatch: pytest.MonkeyPatch
) -> None:
    def away() -> None:
        raise OperationalError("connection to host db.internal failed: password of tideline is wrong")

    settings.TIDELINE_METRICS_TOKEN = TOKEN
    monkeypatch.setattr(collecting, "database_now", away)
    response = Client().get(ADDRESS, headers={"Authorization": f"Bearer {TOKEN}"})
    assert problem_of(response, 503)["detail"] == "The database cannot be reached."

"""Every page of the control panel and every list of the API asks as often over ten times as many rows."""

from collections.abc import Callable, Iterable
from dataclasses import replace
from typing import Any

import pytest
from django.contrib import admin
from django.db import connection, transaction
from django.db.models import Model
from django.test import Client
from django.test.utils import CaptureQueriesContext
from django.urls import NoReverseMatch, reverse

from project.api import RESOURCES
from project.kit.clock import database_now
from tests.benchmarks.panel.history import Size, fill
from tests.panel import chief

pytestmark = pytest.mark.django_db

FEW = Size(schedules=12, busy=2, runs=200, accounts=2, cards=20, channels=2, alerts=20, quotas=4, entries=200, people=4)
MANY = Size(**{name: 10 * getattr(FEW, name) for name in FEW.__dataclass_fields__})
# Ten times as many that belong to the same few.
LONG_HISTORY = replace(MANY, busy=FEW.busy, accounts=FEW.accounts, channels=FEW.channels, quotas=FEW.quotas)


def queries_over(size: Size, addresses_of: Callable[[], Iterable[str]]) -> dict[str, int]:
    """Return how many queries each address asks over so many rows, by somebody whose permissions are known already."""
    with transaction.atomic():
        fill(size, database_now())
        client = chief()
        counted = {address: _queries(client, address) for address in addresses_of()}
        transaction.set_rollback(True)
    return counted


def _queries(client: Client, address: str) -> int:
    client.get(address)
    with CaptureQueriesContext(connection) as captured:
        assert client.get(address).status_code in (200, 302), address
    return len(captured)


@pytest.mark.slow
def test_a_list_asks_as_often_for_ten_times_as_many_rows() -> None:
    def lists() -> list[str]:
        return [_address(model, "changelist") for model in admin.site._registry]

    assert queries_over(FEW, lists) == queries_over(MANY, lists)


@pytest.mark.slow
def test_a_page_asks_as_often_for_ten_times_the_history() -> None:
    def pages() -> list[str]:
        return [_address(model, "change", key) for model in admin.site._registry for key in _a_key(model)]

    assert queries_over(FEW, pages) == queries_over(LONG_HISTORY, pages)


def test_a_list_of_the_api_asks_as_often_for_ten_times_as_many_rows() -> None:
    assert queries_over(FEW, api_lists) == queries_over(MANY, api_lists)


def api_lists() -> list[str]:
    """Return the addresses of the lists of the API; some resources have one thing to show, and no list."""
    found = []
    for name in RESOURCES:
        try:
            found.append(reverse(f"{name}-list"))
        except NoReverseMatch:
            continue
    return found


def _address(model: type[Model], page: str, *arguments: Any) -> str:
    return reverse(f"admin:{model._meta.app_label}_{model._meta.model_name}_{page}", args=arguments)


def _a_key(model: type[Model]) -> list[Any]:
    """Return the key of the first row; none where the table has no row."""
    return list(model._default_manager.order_by("pk").values_list("pk", flat=True)[:1])

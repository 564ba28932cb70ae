"""Whatever the API does beside the actions of the panel stands in the audit log as well: adding, changing, deleting,
and what it alone offers.
"""

import json
from collections.abc import Callable, Mapping
from typing import Any

import pytest
from django.contrib.admin.models import LogEntry
from django.db import transaction

from alerts import testing
from tests.alerts.api.test_permissions import TABLE as OF_ALERTS
from tests.alerts.api.test_permissions import numbers as alerts_by_number
from tests.alerts.factories import Sender
from tests.kit.api.caller import Program, chiefs_program
from tests.scheduler.api.addresses import TABLE as OF_THE_SCHEDULER
from tests.scheduler.api.desk import make_each, version_of
from tests.scheduler.polling.api.addresses import TABLE as OF_THE_POLLING
from tests.scheduler.polling.api.addresses import VERSIONS
from tests.scheduler.polling.api.conftest import numbers as polling_by_number
from tests.scheduler.polling.api.test_permissions import filled_in
from tests.scheduler.polling.fleet.conftest import redis

__all__ = ["alerts_by_number", "polling_by_number", "redis"]

pytestmark = pytest.mark.django_db

# What other systems ask for by the thousand is kept in rows of its own, with who asked and why.
KEPT_ELSEWHERE = {("post", "iot-cards/{card}/check/"), ("post", "polling-check-requests/")}
# The table's file names no card, and nobody has set the parameters that are put back.
NOTHING_TO_DO = {("post", "iot-cards/import/"), ("delete", "polling-carrier-params/{account}/")}


@pytest.fixture(autouse=True)
def _no_network(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(testing, "send", Sender())


def test_what_is_done_with_alerts_and_channels_is_logged(alerts_by_number: dict[str, int]) -> None:
    assert unlogged(OF_ALERTS, alerts_by_number, lambda _caller, _path, _address: {"if_match": '"1"'}) == set()


def test_what_is_done_with_schedules_and_runs_is_logged() -> None:
    rows = make_each()
    assert unlogged(OF_THE_SCHEDULER, rows, lambda caller, path, _address: version_of(caller, path)) == set()


@pytest.mark.usefixtures("redis")
def test_what_is_done_with_cards_and_accounts_is_logged(polling_by_number: dict[str, Any]) -> None:
    def version(_caller: Program, _path: str, address: str) -> dict[str, str]:
        named = VERSIONS.get(address, 0)
        return {"if_match": f'"{polling_by_number.get(str(named), named)}"'}

    table = {each: (filled_in(body, polling_by_number), who) for each, (body, who) in OF_THE_POLLING.items()}
    assert unlogged(table, polling_by_number, version) == KEPT_ELSEWHERE | NOTHING_TO_DO


Table = Mapping[tuple[str, str], tuple[Any, set[str]]]


def unlogged(
    table: Table, rows: dict[str, Any], version: Callable[[Program, str, str], dict[str, str]]
) -> set[tuple[str, str]]:
    """Do all that a table has, each from the same beginning, and return what left nothing in the audit log."""
    caller, left_nothing = chiefs_program(), set()
    for (method, address), (body, _who) in table.items():
        if method == "get":
            continue
        path = address.format(**rows)
        said = json.loads(json.dumps(body).replace("{tomorrow}", str(rows.get("tomorrow"))))
        headers = version(caller, path, address) if method in {"patch", "put", "delete"} else {}
        before, logged = transaction.savepoint(), LogEntry.objects.count()
        response = caller.send(method, path, said, **headers)
        assert response.status_code in {200, 201, 202, 204}, (method, address, response.content)
        if LogEntry.objects.count() == logged:
            left_nothing.add((method, address))
        transaction.savepoint_rollback(before)
    return left_nothing

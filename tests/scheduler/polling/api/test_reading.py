"""Reading over the API: a fixed number of queries, nothing counted, and no carrier is ever asked because of it."""

from typing import Any

import pytest

from scheduler.polling.api import RESOURCES
from scheduler.polling.models import CarrierAccount, CheckRequest, Confirmation
from scheduler.polling.queue import Queue, calls
from tests.kit.api.caller import chiefs_program, queries_of
from tests.scheduler.polling.admin.desk import make_fleet
from tests.scheduler.polling.api.addresses import TABLE

pytestmark = [pytest.mark.django_db, pytest.mark.usefixtures("redis")]

MOST_QUERIES = 2  # the token with its user, and the rows
COUNTS = {"polling-stats"}  # what it tells are counts; test_stats.py says how it asks


@pytest.mark.parametrize("name", sorted(RESOURCES.keys() - COUNTS))
def test_a_list_asks_twice_for_however_many_rows_and_counts_nothing(name: str) -> None:
    make_fleet(3)
    sql = queries_of(chiefs_program(), f"{name}/")
    assert len(sql) == MOST_QUERIES
    assert not [each for each in sql if "COUNT(" in each.upper()]


def test_no_get_ever_asks_for_a_check(queue: Queue, numbers: dict[str, Any]) -> None:
    account = CarrierAccount.objects.get(pk=numbers["account"])
    requests, looks = list(CheckRequest.objects.values()), list(Confirmation.objects.values())
    before = queue.ask(calls.look(account.pk, numbers["card"]))
    asked = queue.ask(calls.count(account.pk)).asked
    for method, address in TABLE:
        if method == "get":
            response = chiefs_program().get(address.format(**numbers))
            assert response.status_code == 200, address
    after = queue.ask(calls.look(account.pk, numbers["card"]))
    assert before is not None
    assert after is not None
    assert (after.asked, after.due, after.priority) == (before.asked, before.due, before.priority)
    assert queue.ask(calls.count(account.pk)).asked == asked == 0
    assert (list(CheckRequest.objects.values()), list(Confirmation.objects.values())) == (requests, looks)

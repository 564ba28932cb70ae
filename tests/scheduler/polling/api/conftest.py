"""The live order of the tests' own Redis, empty at the start of each test, and a row of each kind."""

from typing import Any

import pytest
from redis import Redis

from alerts.models import Alert
from tests.scheduler.polling.admin.desk import put_in_order, raise_alert_of
from tests.scheduler.polling.api.factories import make_cutover, make_operation, make_request
from tests.scheduler.polling.factories import make_card
from tests.scheduler.polling.fleet.conftest import queue, redis

__all__ = ["queue", "redis"]


@pytest.fixture
def numbers(redis: Redis) -> dict[str, Any]:
    """A row of each kind, by its key."""
    card, off = make_card(), make_card(polling_enabled=False)
    put_in_order(card.account)
    raise_alert_of(card)
    waiting = make_operation(make_card(card.account))
    return {
        "card": card.pk,
        "off": off.pk,
        "account": card.account_id,
        "alert": Alert.objects.get().pk,
        "operation": waiting.pk,
        "request": make_request(card).pk,
        "scene": "order_paid",
        "cutover": make_cutover().pk,
    }

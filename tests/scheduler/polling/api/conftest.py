"""The live order of the tests' own Redis, empty at the start of each test, and a row of each kind."""

from typing import Any

import pytest
from redis import Redis

from alerts.models import Alert
from project.kit.clock import database_now
from scheduler.polling import system_settings
from scheduler.polling.api.devices import DeviceSerializer
from scheduler.polling.models import CardChange, CarrierAccount, Device, PollingParams
from tests.scheduler.polling.admin.desk import make_failing, put_in_order, raise_alert_of
from tests.scheduler.polling.api.factories import make_cutover, make_look, make_operation, make_request
from tests.scheduler.polling.factories import HOUR, make_account, make_card, make_tier
from tests.scheduler.polling.fleet.conftest import queue, redis

__all__ = ["queue", "redis"]


def make_held_account() -> CarrierAccount:
    """Insert an account without cards that is left in peace, and of which parameters are set."""
    now = database_now()
    account = make_account(held_until=now + HOUR, held_reason="They asked for it.")
    PollingParams.objects.create(account=account, inflight_limit=7, changed_at=now)
    return account


@pytest.fixture
def numbers(redis: Redis) -> dict[str, Any]:
    """A row of each kind, by its key."""
    card, off = make_card(), make_card(polling_enabled=False)
    put_in_order(card.account)
    raise_alert_of(card)
    waiting, request = make_operation(make_card(card.account)), make_request(card)
    device = Device.objects.create(code="tracker")
    return {
        "card": card.pk,
        "off": off.pk,
        "account": card.account_id,
        "held": make_held_account().pk,
        "idle": make_account(active=False).pk,
        "device": device.pk,
        "device version": DeviceSerializer(device).data["version"],
        "check": make_failing(card).pk,
        "change": CardChange.objects.create(card=card, field="state", at=database_now()).pk,
        "setting": system_settings.change("polling.steps.timeout", 25, actor="ann", now=database_now()).pk,
        "unset": "polling.gateway.max_wait",
        "tier": make_tier().pk,
        "alert": Alert.objects.get().pk,
        "operation": waiting.pk,
        "request": request.pk,
        "look": make_look(request).pk,
        "scene": "order_paid",
        "cutover": make_cutover().pk,
    }

"""Carrier accounts, cards with valid numbers and tiers for the tests, and the instants that they speak of."""

import itertools
from collections.abc import Iterable, Mapping
from datetime import datetime
from typing import Any

from scheduler.polling.iccid import check_digit
from scheduler.polling.models import Card, CardCheck, CarrierAccount, PollingTier
from scheduler.polling.policy import Facts, Tier
from scheduler.polling.states import CardState, CheckType, RealName
from tests.scheduler.factories import A_MOMENT, DAY, HOUR, MINUTE, NOW, SECOND, utc

__all__ = ["A_MOMENT", "DAY", "HOUR", "MINUTE", "NOW", "SECOND", "utc"]

_numbers = itertools.count(1)


def make_account(*, now: datetime = NOW, **fields: Any) -> CarrierAccount:
    """Insert an account, of the simulator unless the fields say otherwise."""
    values = {"name": f"account {next(_numbers)}", "gateway": "simulator"} | fields
    return CarrierAccount.objects.create(created_at=now, updated_at=now, **values)


def iccid(number: int) -> str:
    """Return a valid ICCID of 20 digits that no other number has."""
    digits = f"8986{number:015d}"
    return digits + check_digit(digits)


def make_cards(account: CarrierAccount, count: int, *, now: datetime = NOW, **fields: Any) -> list[Card]:
    """Insert cards of an account in bulk: rows only, nothing of the live order."""
    numbers = itertools.islice(_numbers, count)
    values = {"account": account, "created_at": now, "updated_at": now} | fields
    return Card.objects.bulk_create([Card(iccid=iccid(number), **values) for number in numbers], batch_size=5000)


def make_card(account: CarrierAccount | None = None, **fields: Any) -> Card:
    """Insert a card, with an account of its own unless one is given."""
    return make_cards(account or make_account(), 1, **fields)[0]


def make_checks(cards: Iterable[Card], check: CheckType = CheckType.USAGE, **fields: Any) -> list[CardCheck]:
    """Insert a check of each card."""
    return CardCheck.objects.bulk_create([CardCheck(card=card, type=check, **fields) for card in cards])


def make_tier(**fields: Any) -> PollingTier:
    """Insert the next tier: usage each hour, status each day, for any card, unless the fields say otherwise."""
    number = next(_numbers)
    values = {"position": number, "name": f"tier {number}", "usage_seconds": 3600, "card_status_seconds": 86_400}
    return PollingTier.objects.create(**(values | fields))


def tier(seconds: Mapping[CheckType, int] | None = None, **conditions: Any) -> Tier:
    """Return a tier without a row: usage each hour, unless it says otherwise."""
    return Tier("a tier", {CheckType.USAGE: 3600} if seconds is None else seconds, **conditions)


def facts(**known: Any) -> Facts:
    """Return what is known of an active, verified card whose cycle begins on the 15th in UTC, half of it used."""
    values: dict[str, Any] = {
        "state": CardState.ACTIVE,
        "real_name_state": RealName.VERIFIED,
        "package": "10 MB",
        "used_bytes": 5_000_000,
        "allowance_bytes": 10_000_000,
        "reset_day": 15,
        "timezone": "UTC",
    }
    return Facts(**(values | known))

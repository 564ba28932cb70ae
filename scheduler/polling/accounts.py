"""Reads the accounts: whom dispatching claims for, and as whom a poller asks."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any

from django.db.models import Q, QuerySet

from project.kit.secrets import Secret
from scheduler.polling import holding, params
from scheduler.polling.carriers import registry
from scheduler.polling.carriers.registry import KINDS
from scheduler.polling.models import CarrierAccount, PollingParams
from scheduler.polling.params import Params
from scheduler.polling.states import CheckType

# Cards that only wait for one of the account's places for calls hold up nobody, but need not be many: with two calls of
# 20 ms each, so many last from one round of the dispatcher to the one after it.
CARDS_A_PLACE = 32


@dataclass(frozen=True, slots=True)
class Account:
    """An account as it is asked; two of them are equal if nothing of it has changed."""

    id: int
    name: str
    gateway: str
    settings: Mapping[str, Any]
    credentials: Secret = field(repr=False)
    params: Params
    hold_count: int = field(compare=False)


def to_ask(account_id: int) -> Account | None:
    """Return the account; None: it is gone or switched off."""
    row = _active().filter(pk=account_id).first()
    return None if row is None else _account(row)


def to_claim_for(*, now: datetime) -> list[Account]:
    """Return the active accounts that are not left in peace."""
    rows = _active().filter(Q(held_until__isnull=True) | Q(held_until__lte=now))
    return [_account(row) for row in rows.order_by("pk")]


def params_of(row: CarrierAccount) -> Params:
    """Return what holds for the account, by its row, its gateway and what is usual."""
    said: PollingParams | None = getattr(row, "params", None)
    return params.resolved(said, **_usual(row.gateway))


def checks_of(row: CarrierAccount) -> frozenset[CheckType]:
    """Return which checks the account can make.

    Raises:
        BadSettings: its settings cannot be used; so it makes none.
    """
    return registry.checks_of(row.gateway, row.settings)


def borne(limits: Params, hold_count: int) -> int:
    """Return how many cards of an account may be in work at once, after so many holds in a row."""
    limit = holding.slowed(limits.inflight_limit, hold_count)
    return min(limit, limits.max_concurrency * CARDS_A_PLACE) if limits.max_concurrency else limit


def _usual(gateway: str) -> Mapping[str, Any]:
    """Return what the accounts of a gateway usually bear, where it says so."""
    kind = KINDS.get(gateway)
    if kind is None or not kind.windows:
        return {}
    return {"rate_windows": kind.windows, "max_concurrency": kind.concurrency}


def _active() -> QuerySet[CarrierAccount]:
    return CarrierAccount.objects.filter(active=True).select_related("params")


def _account(row: CarrierAccount) -> Account:
    return Account(
        id=row.pk,
        name=row.name,
        gateway=row.gateway,
        settings=row.settings,
        credentials=row.credentials,
        params=params_of(row),
        hold_count=row.hold_count,
    )

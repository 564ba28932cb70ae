"""Accounts and cards for the panel's tests, who looks at them, and the addresses of their pages."""

import itertools
from typing import Any

from project.kit.clock import database_now
from scheduler.polling import connecting, failures
from scheduler.polling.carriers.base import CardRef, CarrierError
from scheduler.polling.carriers.simulator import settings_for
from scheduler.polling.failures import Failure
from scheduler.polling.fleet.initializing import rebuild
from scheduler.polling.models import Card, CardChange, CardCheck, CarrierAccount, Device, PollingTier
from scheduler.polling.outcomes import Asked, Subject
from scheduler.polling.states import CheckType, ErrorClass
from scheduler.polling.system_settings import Settings
from tests.panel import Desk
from tests.scheduler.polling.factories import HOUR, MINUTE, facts, iccid, make_account, make_checks

MODELS = (
    "carrieraccount",
    "pollingparams",
    "card",
    "cardcheck",
    "cardchange",
    "device",
    "pollingtier",
    "systemsetting",
    "checkscene",
    "checkrequest",
    "confirmation",
    "cardoperation",
    "cutover",
)
DESK = Desk("polling", MODELS)
member, viewer = DESK.member, DESK.viewer
list_of, page_of, confirm = DESK.list_of, DESK.page_of, DESK.confirm
LISTS = tuple(model for model in MODELS if model != "pollingparams")
KEY = "k-8f2e71-hush"
CARRIER = "https://carrier.example.org"
_numbers = itertools.count(1)


def make_reached_account(**fields: Any) -> CarrierAccount:
    """Insert an account of a JSON API, with a key, as it is in the database."""
    values = {"gateway": "http_json", "settings": settings_for(CARRIER), "credentials": {"key": KEY}}
    return CarrierAccount.objects.get(pk=make_account(now=database_now(), **values | fields).pk)


def make_failing(card: Card, check: CheckType = CheckType.USAGE, **fields: Any) -> CardCheck:
    """Insert a check that fails since an hour."""
    now = database_now()
    values: dict[str, Any] = {
        "failures": 3,
        "first_failed_at": now - HOUR,
        "last_failed_at": now - MINUTE,
        "error_class": ErrorClass.TIMEOUT,
        "error": "No answer within 20 s.",
    }
    return make_checks([card], check, **values | fields)[0]


def raise_alert_of(card: Card) -> None:
    """Raise the alert of a card of which usage fails."""
    now = database_now()
    asked = Asked(CheckType.USAGE, now, error=CarrierError(ErrorClass.TIMEOUT, "No answer within 20 s."))
    subject = Subject(CardRef(card.pk, card.iccid), facts())
    failures.tell([Failure(card.account_id, subject, asked, 3)], Settings(), now=now)


def put_in_order(account: CarrierAccount) -> None:
    """Build the live order of an account from its rows."""
    rebuild(connecting.client(), account.pk, by="ann", now=database_now())


def make_fleet(rows: int) -> None:
    """Insert so many accounts, each with a device, a tier and a card of which a check fails and a value changed."""
    now, numbers = database_now(), [next(_numbers) for _ in range(rows)]
    times = {"created_at": now, "updated_at": now}
    accounts = CarrierAccount.objects.bulk_create(
        CarrierAccount(name=f"carrier {number}", gateway="simulator", **times) for number in numbers
    )
    devices = Device.objects.bulk_create(Device(code=f"device-{number}") for number in numbers)
    PollingTier.objects.bulk_create(PollingTier(position=1_000 + number, name="x") for number in numbers)
    cards = Card.objects.bulk_create(
        Card(iccid=iccid(10**9 + number), account=account, device=device, used_bytes=5, allowance_bytes=10, **times)
        for number, account, device in zip(numbers, accounts, devices, strict=True)
    )
    make_checks(cards, CheckType.USAGE, failures=1, first_failed_at=now, last_failed_at=now, error="No answer.")
    make_checks(cards, CheckType.CARD_STATUS, value="active", succeeded_at=now, due_at=now + HOUR)
    CardChange.objects.bulk_create(
        CardChange(card=card, field="state", before="active", after="stopped", at=now) for card in cards
    )

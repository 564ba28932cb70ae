"""What the try-out polls: 2,000 cards of four accounts at a carrier that `bin/up` simulates, each with a habit of its
own, and the tiers that say how often. It is there only where TIDELINE_CARRIER_URL says so; `bin/up` does.
"""

import shlex
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass
from datetime import datetime
from urllib.parse import urlsplit

from django.conf import settings
from django.core.exceptions import ValidationError

from scheduler.polling import defining, system_settings
from scheduler.polling.carriers.http_json import HTTP_JSON
from scheduler.polling.carriers.simulator import AccountPlan, credentials_for, iccid_of, settings_for
from scheduler.polling.carriers.simulator.accounts import plan_of
from scheduler.polling.fleet import lifecycle
from scheduler.polling.models import Card, CarrierAccount, PollingParams, PollingTier
from scheduler.polling.states import CardState

MINUTE, HOUR, DAY = 60, 3_600, 86_400
RESET_DAYS = 28
# A newcomer's inbox is to show an alert over many cards, and not first twenty of single ones.
STORM = 5
ACTOR = "bin/up"


@dataclass(frozen=True, slots=True)
class Example:
    """An account.

    Attributes:
        at_carrier: how it behaves there, as `simulate_carrier` takes it.
        cards: how many we poll.
        windows: how often we ask it, as its polling parameters hold it: a little less than it bears, for calls that
            left in time arrive with the jitter of their way.
        concurrency: calls at one time; None: as many as there are.
        token: whether it is asked with a token that is fetched, or with its key.
    """

    name: str
    at_carrier: str
    cards: int
    windows: list[dict[str, int]]
    concurrency: int | None = None
    token: bool = False

    @property
    def plan(self) -> AccountPlan:
        """How it behaves at the carrier."""
        return plan_of(self.at_carrier)


EXAMPLES = (
    Example(
        "Fine Mobile",
        "fine,cards=800,latency=40,spread=20,rate=12/1",
        cards=800,
        windows=[{"limit": 10, "seconds": 1}],
        token=True,
    ),
    Example(
        "Slow Mobile",
        "slow,cards=400,latency=3000,spread=1500,rate=7/1",
        cards=400,
        windows=[{"limit": 5, "seconds": 1}],
    ),
    Example(
        "Strict Mobile",
        "strict,cards=400,latency=60,spread=20,rate=6/1,rate=130/60,concurrency=1",
        cards=400,
        windows=[{"limit": 5, "seconds": 1}, {"limit": 120, "seconds": 60}],
        concurrency=1,
    ),
    # The last 25 of our cards are unknown to it.
    Example(
        "Forgetful Mobile",
        "forgetful,cards=375,latency=80,spread=40,rate=7/1",
        cards=400,
        windows=[{"limit": 5, "seconds": 1}],
    ),
)


def load(*, now: datetime) -> None:
    """Create the tiers, and the accounts with their cards."""
    system_settings.change("polling.account_alert.threshold", STORM, actor=ACTOR, now=now)
    for tier in _tiers():
        defining.save_new_tier(tier)
    for example in EXAMPLES:
        lifecycle.add_cards(_cards(_create_account(example, now), example), now=now)


def move(*, now: datetime) -> None:
    """Let the accounts follow the carrier to where it is this time; one that leads elsewhere now, or that its gateway
    cannot use any more, stays.
    """
    for account in _led_to_the_carrier():
        address = f"{settings.TIDELINE_CARRIER_URL}{urlsplit(account.settings['base_url']).path}"
        account.settings = account.settings | {"base_url": address}
        with suppress(ValidationError):  # left to a person: the account's page says what to do
            defining.save_account(account, expected_version=account.version, now=now)


def command() -> str | None:
    """Return the line that runs the carrier, as those of the Procfile are; None: no account leads to it."""
    if next(_led_to_the_carrier(), None) is None:
        return None
    port = str(urlsplit(settings.TIDELINE_CARRIER_URL).port)
    accounts = (word for example in EXAMPLES for word in ("--account", example.at_carrier))
    return f"exec {shlex.join(['python', 'manage.py', 'simulate_carrier', '--port', port, *accounts])}"


def _tiers() -> list[PollingTier]:
    """Return how often which cards are asked what; the first that matches counts."""
    return [
        PollingTier(
            position=10,
            name="Nothing known yet",
            states=[CardState.UNKNOWN],
            card_status_seconds=2 * MINUTE,
            real_name_seconds=10 * MINUTE,
            package_seconds=10 * MINUTE,
            usage_seconds=2 * MINUTE,
        ),
        PollingTier(
            position=20,
            name="Nearly used up",
            states=[CardState.ACTIVE],
            usage_from_percent=80,
            card_status_seconds=30 * MINUTE,
            real_name_seconds=DAY,
            package_seconds=HOUR,
            usage_seconds=5 * MINUTE,
        ),
        PollingTier(
            position=30,
            name="In use",
            states=[CardState.ACTIVE],
            card_status_seconds=30 * MINUTE,
            real_name_seconds=DAY,
            package_seconds=DAY,
            usage_seconds=10 * MINUTE,
        ),
        PollingTier(
            position=40,
            name="All others",
            card_status_seconds=HOUR,
            real_name_seconds=DAY,
            package_seconds=DAY,
            usage_seconds=6 * HOUR,
        ),
    ]


def _create_account(example: Example, now: datetime) -> CarrierAccount:
    account = defining.create_account(
        name=example.name,
        gateway=HTTP_JSON.name,
        settings=settings_for(settings.TIDELINE_CARRIER_URL, example.plan.name, token=example.token),
        credentials=dict(credentials_for(example.plan, token=example.token)),
        now=now,
    )
    params = PollingParams(account=account, rate_windows=example.windows, max_concurrency=example.concurrency)
    defining.save_params(params, expected_version=0, now=now, actor=ACTOR)
    return account


def _cards(account: CarrierAccount, example: Example) -> Iterator[Card]:
    at_carrier = example.plan.name
    for number in range(example.cards):
        yield Card(iccid=iccid_of(at_carrier, number), account=account, reset_day=1 + number % RESET_DAYS)


def _led_to_the_carrier() -> Iterator[CarrierAccount]:
    """Yield those of the accounts that lead to where the carrier was at some start."""
    by_name = {example.name: example for example in EXAMPLES}
    for account in CarrierAccount.objects.filter(name__in=by_name):
        address = urlsplit(account.settings.get("base_url", ""))
        place = urlsplit(settings.TIDELINE_CARRIER_URL).hostname, f"/{by_name[account.name].plan.name}"
        if (address.hostname, address.path) == place:
            yield account

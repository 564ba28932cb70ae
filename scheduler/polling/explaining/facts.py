"""Reads what decides when a card is asked: its rows, and what the live order says of it."""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime

from redis import Redis
from redis.exceptions import RedisError

from quotas.ratelimit import Limiter
from scheduler import wording
from scheduler.explaining import Scan, Scans
from scheduler.polling import accounts, capacity, cards, policy, tiers
from scheduler.polling.carriers.registry import BadSettings
from scheduler.polling.cutover import standing
from scheduler.polling.cutover.standing import Standing
from scheduler.polling.fleet import initializing
from scheduler.polling.fleet.rebuilds import Progress
from scheduler.polling.models import Card, CardCheck, CarrierAccount
from scheduler.polling.params import Params
from scheduler.polling.policy import Facts, Tier
from scheduler.polling.queue import Counts, Queue, Sight, calls, limiter_name
from scheduler.polling.states import CheckType


@dataclass(frozen=True, slots=True)
class Order:
    """What Redis knows.

    Attributes:
        sight: the card in its account's live order; None: it is not there.
        progress: of the latest rebuild of that order.
        places: how many cards the pollers of the account's queue can hold together.
        has_calls: whether the account's limit leaves a call for this second.
    """

    sight: Sight | None
    counts: Counts
    progress: Progress | None
    places: int
    has_calls: bool


@dataclass(frozen=True, slots=True)
class CardFacts:
    """A card and all that decides when it is asked.

    Attributes:
        now: by the database's clock.
        possible: the checks that its account can make.
        fault: why the account's settings cannot be used; empty: they can.
        tier: the first that matches.
        order: None: Redis is away.
        dispatch: when due cards were last sent out; None: that is not known.
    """

    now: datetime
    card: Card
    params: Params
    held: Standing
    possible: frozenset[CheckType]
    fault: str
    facts: Facts
    tier: Tier | None
    checks: Mapping[CheckType, CardCheck]
    order: Order | None
    dispatch: Scan | None

    @property
    def account(self) -> CarrierAccount:
        """The account that asks it."""
        return self.card.account

    @property
    def sight(self) -> Sight | None:
        """The card in the live order, as far as that is known."""
        return self.order.sight if self.order else None

    @property
    def clock(self) -> datetime:
        """The present instant on the clock of the due times."""
        return self.sight.now if self.sight else self.now

    def at(self, instant: datetime) -> str:
        """Return an instant as the clocks of the account's zone show it."""
        return wording.local(instant, self.facts.timezone)


def read(card: Card, now: datetime, redis: Redis, scans: Scans) -> CardFacts:
    """Return the facts of a card."""
    account = CarrierAccount.objects.select_related("params").get(pk=card.account_id)
    card.account = account
    params = accounts.params_of(account)
    possible, fault = _possible(account)
    facts = cards.facts_of(card)
    return CardFacts(
        now=now,
        card=card,
        params=params,
        held=standing.now_holds(),
        possible=possible,
        fault=fault,
        facts=facts,
        tier=policy.tier_of(tiers.current(), facts),
        checks={CheckType(check.type): check for check in CardCheck.objects.filter(card=card)},
        order=_order(redis, card, params),
        dispatch=scans.dispatch,
    )


def _possible(account: CarrierAccount) -> tuple[frozenset[CheckType], str]:
    try:
        return accounts.checks_of(account), ""
    except BadSettings as error:
        return frozenset(), str(error)


def _order(redis: Redis, card: Card, params: Params) -> Order | None:
    account_id, queue, windows = card.account_id, Queue(redis), params.rate_windows
    try:
        return Order(
            sight=queue.ask(calls.look(account_id, card.pk)),
            counts=queue.ask(calls.count(account_id)),
            progress=initializing.progress(redis, [account_id]).get(account_id),
            places=capacity.of_queues(redis, [params.queue])[params.queue],
            has_calls=not windows or Limiter(redis, limiter_name(account_id), windows).left(enough=1) > 0,
        )
    except RedisError:
        return None

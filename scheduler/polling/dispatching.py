"""Each second the due cards of all accounts are claimed, as many as each account bears, and sent out in batches. One of
the doors to Celery: a message that is lost costs its cards a lease, and nothing else.
"""

import logging
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from itertools import zip_longest

from django.conf import settings
from kombu.exceptions import KombuError
from redis import Redis
from redis.exceptions import RedisError, ResponseError

from project.kit.parts import parts_of
from project.kit.sentences import counted
from scheduler.hints import publish, reached_broker
from scheduler.polling import accounts, capacity, policy
from scheduler.polling.accounts import Account
from scheduler.polling.messages import as_message
from scheduler.polling.queue import calls
from scheduler.polling.queue.entries import Claim, Round, RoundState
from scheduler.polling.queue.queue import Queue

logger = logging.getLogger(__name__)

POLL_TASK = "polling.poll_cards"
# So many cards go out in one message, and so many at most for one account in one round.
CARDS_A_MESSAGE = 50
CARDS_A_ROUND = calls.MOST_CARDS
# Calls are claimed for the second that begins and for a late next round, else what lies between is lost.
HORIZON = timedelta(seconds=1.5)


@dataclass(frozen=True, slots=True)
class Dispatched:
    """What one round did.

    Attributes:
        cards: how many were sent out, in so many messages.
        not_ready: accounts whose live order has to be rebuilt.
        note: what a person should know, such as that no poller is there; empty: nothing.
    """

    cards: int = 0
    messages: int = 0
    not_ready: Sequence[int] = ()
    note: str = ""


def dispatch(redis: Redis, *, now: datetime) -> Dispatched:
    """Do this second's round: claim for every account in one round trip, and send out what was claimed.

    Accounts that are left in peace have none. If nothing can be published, the claims are given back.
    """
    queue, places = Queue(redis), _places(redis, accounts.to_claim_for(now=now))
    rounds = queue.perform([_claim(account, limit) for account, limit in places.limits])
    sent = _send(queue, list(_batches(places.limits, rounds)))
    not_ready = [
        account.id
        for (account, _), round_ in zip(places.limits, rounds, strict=True)
        if isinstance(round_, Round) and round_.state is RoundState.NOT_READY
    ]
    return replace(sent, not_ready=not_ready, note=sent.note or places.note)


# --- how many cards of each account may be in work -------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class _Places:
    limits: Sequence[tuple[Account, int]]
    note: str


def _places(redis: Redis, asked: Sequence[Account]) -> _Places:
    """Return what each account may have in work: what it bears, and no more than its queue's pollers can hold."""
    by_queue: dict[str, list[Account]] = {}
    for account in asked:
        by_queue.setdefault(account.params.queue, []).append(account)
    limits: list[tuple[Account, int]] = []
    notes: list[str] = []
    for name, cards in capacity.of_queues(redis, by_queue).items():
        wanted = {account.id: accounts.borne(account.params, account.hold_count) for account in by_queue[name]}
        if not cards:
            notes.append(f"No poller reads the queue {name}: the cards of {counted(len(wanted), 'account')} wait.")
            continue
        if sum(wanted.values()) > cards:
            notes.append(f"The pollers of {name} hold {cards} cards, and its accounts want {sum(wanted.values())}.")
        granted = policy.tightened(wanted, cards)
        limits += [(account, granted[account.id]) for account in by_queue[name]]
    return _Places(limits, " ".join(notes))


def _claim(account: Account, limit: int) -> calls.Call[Round]:
    return calls.claim(
        account.id,
        most=CARDS_A_ROUND,
        inflight_limit=limit,
        lease=timedelta(seconds=settings.TIDELINE_POLLING_LEASE_SECONDS),
        priority_share=account.params.priority_max_ratio,
        windows=account.params.rate_windows,
        horizon=HORIZON,
    )


# --- how they are sent out -------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class _Batch:
    queue: str
    claims: Sequence[Claim]

    @property
    def account_id(self) -> int:
        return self.claims[0].account_id


def _batches(limits: Sequence[tuple[Account, int]], rounds: Sequence[Round | ResponseError]) -> Iterator[_Batch]:
    """Yield the claims in small batches, the first of each account before the second of any."""
    parts = [
        [_Batch(account.params.queue, part) for part in parts_of(round_.claims, CARDS_A_MESSAGE)]
        for (account, _), round_ in zip(limits, rounds, strict=True)
        if isinstance(round_, Round)
    ]
    for turn in zip_longest(*parts):
        yield from filter(None, turn)


def _send(queue: Queue, batches: Sequence[_Batch]) -> Dispatched:
    """Publish all of it, or give the claims back and say why."""
    if not batches:
        return Dispatched()
    try:
        with reached_broker() as producer, producer.batch():
            for batch in batches:
                publish(
                    producer,
                    POLL_TASK,
                    [batch.account_id, as_message(batch.claims)],
                    queue=batch.queue,
                    shown=f"account {batch.account_id}, {len(batch.claims)} cards",
                )
    except (KombuError, RedisError, OSError) as error:
        logger.warning("broker unreachable, claims are given back: %s", type(error).__name__)
        queue.perform([_release(batch) for batch in batches])
        return Dispatched(note=f"Broker unreachable ({type(error).__name__}): due cards wait until it is back.")
    return Dispatched(sum(len(batch.claims) for batch in batches), len(batches))


def _release(batch: _Batch) -> calls.Call[list[bool]]:
    return calls.release(batch.account_id, [(claim.card_id, claim.token) for claim in batch.claims])

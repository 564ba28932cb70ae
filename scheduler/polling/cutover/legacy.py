"""The simple way: one message a card and check. A slow account takes the threads of all others.

A check that was taken is due again when its lease ends, so a message that is lost costs that; and what is written is
fenced by when it was taken, which on the same clock is also a token of the other way. So neither overwrites the other.
A message that comes when its taking is over, or when the simple way no longer decides, ends by itself.
"""

import logging
import time
from collections.abc import Mapping, Sequence
from datetime import datetime, timedelta

from django.db.models import FilteredRelation, Q
from kombu.exceptions import KombuError
from kombu.messaging import Producer
from redis import Redis
from redis.exceptions import RedisError

from project.kit.clock import database_now
from scheduler.hints import publish, reached_broker
from scheduler.polling import cards, settling, system_settings
from scheduler.polling.cutover import sets
from scheduler.polling.cutover.callers import Caller
from scheduler.polling.cutover.sets import Taken
from scheduler.polling.dispatching import Dispatched
from scheduler.polling.fleet.live_order import polled_cards
from scheduler.polling.leases import Held
from scheduler.polling.outcomes import Polled
from scheduler.polling.queue import Claim, Queue, calls
from scheduler.polling.states import CheckType
from scheduler.polling.system_settings import Settings

logger = logging.getLogger(__name__)

CHECK_TASK = "polling.legacy_check"
QUEUE = "polling.legacy"
# So many messages may wait: what a round finds beyond them stays where it is.
MOST_WAITING = 4000
# A card that is being stopped or resumed is looked at after so long.
TAKEN_AGAIN = timedelta(seconds=2)


def dispatch(redis: Redis) -> Dispatched:
    """Do this second's round: take what is due and send it out.

    Raises:
        redis.RedisError: Redis is away.
    """
    if not sets.is_ready(redis):
        return Dispatched(not_ready=(sets.ORDER,))
    try:
        with reached_broker() as producer:
            room = MOST_WAITING - _waiting(producer)
        taken = sets.take_due(redis, -(-room // len(sets.SETS))) if room > 0 else []
        send(taken)
    except (KombuError, RedisError, OSError) as error:
        logger.warning("broker unreachable, checks are due again after their lease: %s", type(error).__name__)
        return Dispatched(note=f"Broker unreachable ({type(error).__name__}): due cards wait until it is back.")
    note = "" if room > 0 else f"{MOST_WAITING:,} messages wait in {QUEUE}: start a worker that reads it, or more."
    return Dispatched(len(taken), len(taken), note=note)


def send(taken: Sequence[Taken]) -> None:
    """Send a message for each check.

    Raises:
        KombuError, OSError, redis.RedisError: the broker is away. What was not sent is due again when its lease ends.
    """
    if not taken:
        return
    with reached_broker() as producer, producer.batch():
        for each in taken:
            arguments = [each.card_id, each.type, each.token]
            publish(producer, CHECK_TASK, arguments, queue=QUEUE, shown=f"card {each.card_id}, {each.type}")


def _waiting(producer: Producer) -> int:
    return int(producer.channel.queue_declare(queue=QUEUE).message_count)


# --- one message -----------------------------------------------------------------------------------------------


def check(redis: Redis, taken: Taken, caller: Caller) -> None:
    """Ask the carrier, write what it says, and let the check be due anew; what a later message has written stays.

    Args:
        caller: of this thread.
    """
    said = system_settings.current()
    lease = _lease(said)
    until = time.monotonic() + lease.total_seconds()  # before it begins: so it is over here first
    work_until = sets.begin(redis, taken, lease)
    if not work_until:
        return
    polled = _to_poll(taken)
    if polled is None:
        sets.remove(redis, [taken.card_id])
    due = {} if polled is None else _asked(redis, polled, Held(polled.claim, "", until), lease, said, caller)
    sets.end(redis, taken, work_until, due)


def _asked(
    redis: Redis, polled: Polled, held: Held, lease: timedelta, said: Settings, caller: Caller
) -> Mapping[CheckType, datetime | None]:
    """Ask with the card's claim in hand, for it may just be stopped or resumed; return when the check is due."""
    account_id, card_id, queue = polled.claim.account_id, polled.claim.card_id, Queue(redis)
    (token,) = queue.ask(calls.take(account_id, [card_id], lease))
    if not token:
        return dict.fromkeys(polled.claim.types, database_now() + TAKEN_AGAIN)
    try:
        if not caller.ask(polled, said, held, now=database_now()):
            return {}
        return settling.settle([polled], now=database_now()).finishes[account_id][0].due
    finally:
        queue.ask(calls.release(account_id, [(card_id, token)]))


def _lease(said: Settings) -> timedelta:
    """Return for how long nobody else works on a card: for longer than a check may take."""
    return timedelta(seconds=said.steps_timeout + 2 * said.gateway_max_wait + said.steps_total_margin)


def _to_poll(taken: Taken) -> Polled | None:
    """Return the card with its check's failures so far; None: it is polled no more."""
    known = FilteredRelation("checks", condition=Q(checks__type=taken.type))
    row = (
        polled_cards()
        .filter(pk=taken.card_id)
        .annotate(known=known)
        .values_list("account_id", "known__failures")
        .first()
    )
    subject = cards.read([taken.card_id]).get(taken.card_id)
    if row is None or subject is None:
        return None
    account_id, failures = row
    claim = Claim(account_id, taken.card_id, taken.token, (taken.type,), {taken.type: failures or 0})
    return Polled(claim, subject)

"""The live order follows the rows of some cards: in where they are polled, out of where they were.

After a commit it does so at once. A person who made the change may be waiting: if Redis is away or slow, it is left to
`reconciling`.
"""

import logging
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from datetime import datetime, timedelta

from redis import Redis
from redis.exceptions import RedisError

from project.kit.parts import parts_of
from scheduler.polling import accounts, connecting, policy
from scheduler.polling.cutover import structure
from scheduler.polling.fleet import live_order
from scheduler.polling.fleet.live_order import DueRule
from scheduler.polling.models import CarrierAccount
from scheduler.polling.queue import MOST_CARDS

logger = logging.getLogger(__name__)

# Cards that come are spread over twice the time that asking them takes, so that half of the account's calls are left
# to the others; and over this at least, so that a handful makes no burst.
LEAST_SPREAD = timedelta(seconds=30)
CALLS_A_CARD = 2


def follow_at_once(former: Mapping[int, int], beginning: set[int], *, now: datetime) -> None:
    """Let the live order follow now if Redis is there, and otherwise later; arguments as `follow`."""
    with _later_if_away():
        follow(connecting.hasty_client(), former, beginning, now=now)


def forget_at_once(account_id: int) -> None:
    """Let the live order of an account go now if Redis is there, and otherwise later."""
    with _later_if_away():
        structure.forget(connecting.hasty_client(), account_id)


@contextmanager
def _later_if_away() -> Iterator[None]:
    try:
        yield
    except RedisError as error:
        logger.warning("the live order follows later, for Redis is away: %s", type(error).__name__)


def follow(redis: Redis, former: Mapping[int, int], beginning: set[int], *, now: datetime) -> None:
    """Let the live order hold some cards as their rows are now. The same again changes nothing but a card's jitter.

    Args:
        former: by card, the account in whose order it was, or is to be.
        beginning: those of the cards that are new to their order: they are due soon, spread without a herd.

    Raises:
        redis.RedisError: it is away; a part may be done.
    """
    polled = dict(live_order.polled_cards().filter(pk__in=list(former)).values_list("pk", "account_id"))
    for account_id, card_ids in _by_account(former).items():
        take_out(redis, account_id, [card_id for card_id in card_ids if polled.get(card_id) != account_id])
    for account_id, card_ids in _by_account(polled).items():
        come = [card_id for card_id in card_ids if card_id in beginning]
        if come:
            put_in(redis, account_id, come, live_order.soon(now, spread_of(account_id, len(come))))
        stay = [card_id for card_id in card_ids if card_id not in beginning]
        put_in(redis, account_id, stay, live_order.as_before(now))


def spread_of(account_id: int, count: int) -> timedelta:
    """Return over which span so many cards that come to an account are spread."""
    account = CarrierAccount.objects.select_related("params").get(pk=account_id)
    takes = policy.full_cycle(count * CALLS_A_CARD, accounts.params_of(account).rate_windows)
    return LEAST_SPREAD if takes is None else max(2 * takes, LEAST_SPREAD)


def put_in(redis: Redis, account_id: int, card_ids: Sequence[int], due: DueRule) -> int:
    """Put those of the cards that the account polls into its order, and return how many are new there."""
    new = 0
    for some in parts_of(card_ids, MOST_CARDS):
        polled = live_order.polled_cards().filter(account=account_id, pk__in=some)
        if entries := live_order.entries(polled.order_by("pk"), due):
            new += structure.put(redis, account_id, entries)
    return new


def take_out(redis: Redis, account_id: int, card_ids: Sequence[int]) -> int:
    """Take cards out of the order of an account, and return how many there were."""
    return sum(structure.remove(redis, account_id, some) for some in parts_of(card_ids, MOST_CARDS))


def _by_account(accounts_of_cards: Mapping[int, int]) -> dict[int, list[int]]:
    cards: dict[int, list[int]] = defaultdict(list)
    for card_id, account_id in sorted(accounts_of_cards.items()):
        cards[account_id].append(card_id)
    return cards

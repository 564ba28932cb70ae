"""What each script is called with and what it answers: pure, the same for every client.

A function here makes a `Call`; `Queue.perform` and `AsyncQueue.perform` send any number of them in one round trip.
None takes more than MOST_CARDS cards. Where one takes several cards, the answer is in their order.
"""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from datetime import timedelta
from decimal import Decimal
from typing import Any, Generic, TypeVar

from quotas.ratelimit import Calls as LimiterCalls
from quotas.ratelimit import Window
from scheduler.polling.queue import answers
from scheduler.polling.queue.entries import Card, Counts, Finish, Requested, Round, Sight, Traffic
from scheduler.polling.queue.keys import TRAFFIC, key_of, keys_of, limiter_name
from scheduler.polling.queue.packing import MICROSECOND, MILLISECOND, mask_of, packed_card, packed_news
from scheduler.polling.states import CheckType

# The scripts hand the fields of all cards to one command, and Lua's unpack() has its limit.
MOST_CARDS = 1000
# Of the priority, in hundredths: neither lane ever waits for ever.
LEAST_SHARE, MOST_SHARE = 1, 99

Answer = TypeVar("Answer")
Argument = int | str | bytes


@dataclass(frozen=True, slots=True)
class Call(Generic[Answer]):
    """A script, what it is called with, and how its reply is read."""

    script: str
    keys: tuple[bytes, ...]
    arguments: tuple[Argument, ...]
    read: Callable[[Any], Answer]


def claim(
    account_id: int,
    *,
    most: int,
    inflight_limit: int,
    lease: timedelta,
    priority_share: Decimal,
    windows: Sequence[Window] = (),
    horizon: timedelta = timedelta(seconds=1),
) -> Call[Round]:
    """Claim cards for this second: those asked for and those due, in turn.

    Args:
        most: cards, at most MOST_CARDS.
        inflight_limit: how many of the account's cards may be claimed at once.
        priority_share: of the cards taken while both kinds wait, 0 to 1; each kind always gets at least 1 %.
        windows: of the account's limiter. Cards are taken until their due types need the calls that could be made
            within the horizon; the last of them may need more, so that no call is wasted. None: nothing limits them.
    """
    limiter = LimiterCalls(limiter_name(account_id), windows) if windows else None
    share = min(max(int(priority_share * 100), LEAST_SHARE), MOST_SHARE)
    arguments = _limited(most), inflight_limit, lease // MILLISECOND, share, horizon // MICROSECOND
    return Call(
        "claim",
        keys_of(account_id) + (limiter.keys if limiter else ()),
        arguments + (limiter.window_arguments if limiter else ()),
        lambda reply: answers.round_(account_id, reply),
    )


def start(account_id: int, executor: str, lease: timedelta, held: Sequence[tuple[int, int]]) -> Call[list[bool]]:
    """Begin to work on claimed cards. False: the claim is over, or another executor works on the card.

    Args:
        executor: who works: a name for each message that is handled, so that a doubled message is refused.
        lease: from now.
        held: card and token of each.
    """
    return _holding("start", account_id, executor, lease, held)


def renew(account_id: int, executor: str, lease: timedelta, held: Sequence[tuple[int, int]]) -> Call[list[bool]]:
    """Extend the leases of started cards. False: the claim is over, or another's; then no further step may start."""
    return _holding("renew", account_id, executor, lease, held)


def take(account_id: int, card_ids: Sequence[int], lease: timedelta) -> Call[list[int]]:
    """Claim cards for something else than their checks, whether they are due or not, and polled or not; `release` ends
    it. The answer is the token of each; 0: it is claimed already.

    Args:
        lease: from now; it is not renewed.
    """
    return _call("take", account_id, [lease // MILLISECOND, *card_ids], list, cards=len(card_ids))


def finish(account_id: int, finishes: Sequence[Finish]) -> Call[list[bool]]:
    """End claims with what came of them. False: the claim was over, and nothing was changed."""
    arguments = (
        argument for each in finishes for argument in (each.card_id, each.token, packed_news(each.due, each.failures))
    )
    return _call("finish", account_id, arguments, answers.flags, cards=len(finishes))


def release(account_id: int, held: Sequence[tuple[int, int]]) -> Call[list[bool]]:
    """Give claims back as if they had not been made. False: the claim was over.

    Args:
        held: card and token of each.
    """
    return _call("release", account_id, _flat(held), answers.flags, cards=len(held))


def request(
    account_id: int,
    card_ids: Sequence[int],
    types: Iterable[CheckType],
    *,
    scene: str = "",
    cooldown: timedelta = timedelta(0),
    delay: timedelta = timedelta(0),
) -> Call[list[Requested]]:
    """Ask for checks beside the schedule. A card that is in work is worked on once more afterwards.

    Args:
        scene, cooldown: for how long the same scene may not ask for the same card again.
        delay: from when the check is wanted.

    Raises:
        ValueError: no type is named.
    """
    mask = mask_of(types)
    if not mask:
        raise ValueError("types: name at least one to check.")
    asked: list[Argument] = [mask, delay // MILLISECOND, cooldown // MILLISECOND, scene]
    return _call("request", account_id, [*asked, *card_ids], answers.requested, cards=len(card_ids))


def put(account_id: int, cards: Sequence[Card]) -> Call[int]:
    """Add cards, or change when they are due; the answer is how many are new. Claims and requests stay."""
    arguments = (argument for card in cards for argument in (card.card_id, packed_card(card.due, card.failures)))
    return _call("put", account_id, arguments, int, cards=len(cards))


def remove(account_id: int, card_ids: Sequence[int]) -> Call[int]:
    """Take cards out; the answer is how many were there. What is still in work is stale when it finishes."""
    return _call("remove", account_id, card_ids, int, cards=len(card_ids))


def begin_rebuild(account_id: int) -> Call[None]:
    """Forget the cards and their order, and let claiming wait for the end of the rebuild. Claims and requests stay."""
    return _call("begin_rebuild", account_id, (), answers.nothing)


def complete_rebuild(account_id: int, epoch: str, highest_token: int) -> Call[None]:
    """Let claiming begin: all cards were put.

    Args:
        epoch: a name for this order of the cards, which `count` tells.
        highest_token: in the rows of the account; those to come are higher.
    """
    return _call("complete_rebuild", account_id, (epoch, highest_token), answers.nothing)


def drain(account_id: int) -> Call[int]:
    """Give back the claims that nobody holds any longer; the answer is how many are held."""
    return _call("drain", account_id, (), int)


def look(account_id: int, card_id: int) -> Call[Sight | None]:
    """Tell all about a card; None: it is not in the queue."""
    return _call("look", account_id, (card_id,), answers.sight)


def count(account_id: int) -> Call[Counts]:
    """Count what the account has in the queue."""
    return _call("count", account_id, (), answers.counts)


def note_traffic(account_id: int, *, made: int, waits: int, waited: timedelta, timeouts: int) -> Call[None]:
    """Note calls to the carrier: how many were made just now, and how many were not.

    Args:
        waits, waited: how many of them had to wait for their slot, and how long together.
        timeouts: how many were not made, as they would have had to wait too long.
    """
    return Call(
        "note_traffic", _with_traffic(account_id), (made, waits, waited // MILLISECOND, timeouts), answers.nothing
    )


def traffic(account_id: int) -> Call[Traffic]:
    """Tell the account's calls to the carrier."""
    return Call("traffic", _with_traffic(account_id), (Traffic.LATELY,), answers.traffic)


def _with_traffic(account_id: int) -> tuple[bytes, ...]:
    return *keys_of(account_id), key_of(account_id, TRAFFIC).encode()


def _holding(
    script: str, account_id: int, executor: str, lease: timedelta, held: Sequence[tuple[int, int]]
) -> Call[list[bool]]:
    holder: list[Argument] = [executor, lease // MILLISECOND]
    return _call(script, account_id, [*holder, *_flat(held)], answers.flags, cards=len(held))


def _call(
    script: str, account_id: int, arguments: Iterable[Argument], read: Callable[[Any], Answer], cards: int = 1
) -> Call[Answer]:
    _limited(cards)
    return Call(script, keys_of(account_id), tuple(arguments), read)


def _flat(held: Sequence[tuple[int, int]]) -> Iterable[int]:
    return (number for pair in held for number in pair)


def _limited(cards: int) -> int:
    if not 1 <= cards <= MOST_CARDS:
        raise ValueError(f"cards: take 1 to {MOST_CARDS:,} at once, not {cards:,}.")
    return cards

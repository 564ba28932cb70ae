"""Each second the operations that are due are claimed, as many as each account bears, and sent to its pollers. What is
lost on the way is found by the rows: with its lease an operation that was not begun is free again, and one that was is
looked at.
"""

import logging
from collections.abc import Iterator, Mapping, Sequence
from datetime import datetime, timedelta

from kombu.exceptions import KombuError
from redis.exceptions import RedisError

from project.kit.parts import parts_of
from scheduler.hints import publish, reached_broker
from scheduler.polling import accounts
from scheduler.polling.accounts import Account
from scheduler.polling.operations import claiming, settling
from scheduler.polling.operations.taken import Taken, as_message

logger = logging.getLogger(__name__)

CHANGE_TASK = "polling.change_cards"
# So many go out in one message: a carrier is asked for few changes at once.
OPERATIONS_A_MESSAGE = 10
# After so long it is tried anew where the broker was away.
AWAY = timedelta(seconds=5)


def send_due(*, now: datetime) -> str:
    """Free what was lost, claim what is due and send it out; return what a person should know, or nothing.

    Accounts that are switched off or left in peace have none. If nothing can be published, the claims are given back.
    """
    settling.settle_lost(now=now)
    claiming.free_unbegun(now=now)
    waiting = claiming.accounts_that_wait(now=now)
    asked = {each.id: each for each in accounts.to_claim_for(now=now) if each.id in waiting} if waiting else {}
    taken = claiming.claim(asked.values(), now=now) if asked else {}
    return _send(asked, taken, now) if taken else ""


def _send(asked: Mapping[int, Account], taken: Mapping[int, Sequence[Taken]], now: datetime) -> str:
    try:
        with reached_broker() as producer, producer.batch():
            for account_id, part in _parts(taken):
                arguments = [account_id, as_message(part)]
                shown = f"account {account_id}, {len(part)} changes"
                publish(producer, CHANGE_TASK, arguments, queue=asked[account_id].params.queue, shown=shown)
    except (KombuError, RedisError, OSError) as error:
        logger.warning("broker unreachable, operations wait on: %s", type(error).__name__)
        claiming.put_off([one for part in taken.values() for one in part], until=now + AWAY)
        return f"Broker unreachable ({type(error).__name__}): stops and resumes wait until it is back."
    return ""


def _parts(taken: Mapping[int, Sequence[Taken]]) -> Iterator[tuple[int, Sequence[Taken]]]:
    for account_id, of_account in taken.items():
        yield from ((account_id, part) for part in parts_of(of_account, OPERATIONS_A_MESSAGE))

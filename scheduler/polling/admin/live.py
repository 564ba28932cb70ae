"""What the live order says of accounts, for lists and pages: in one round trip each, and bearing that Redis is away."""

import logging
from collections.abc import Sequence
from dataclasses import dataclass

from redis.exceptions import RedisError

from scheduler.polling import connecting
from scheduler.polling.fleet import rebuilds
from scheduler.polling.fleet.rebuilds import Progress
from scheduler.polling.queue import Counts, Queue, calls

logger = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class Live:
    """What is in order of an account.

    Attributes:
        counts: None: Redis does not say.
        progress: of its latest rebuild; None: there was none lately, or Redis does not say.
    """

    counts: Counts | None = None
    progress: Progress | None = None


UNKNOWN = Live()


def of_accounts(account_ids: Sequence[int]) -> dict[int, Live]:
    """Return what is in order of each account; nothing is known of it where Redis does not answer within a second."""
    if not account_ids:
        return {}
    redis = connecting.hasty_client()
    try:
        counted = Queue(redis).perform([calls.count(account_id) for account_id in account_ids])
        progress = rebuilds.progress(redis, account_ids)
    except RedisError as error:
        logger.warning("the live order is not shown, for Redis is away: %s", type(error).__name__)
        return dict.fromkeys(account_ids, UNKNOWN)
    return {
        account_id: Live(counts if isinstance(counts, Counts) else None, progress.get(account_id))
        for account_id, counts in zip(account_ids, counted, strict=True)
    }

"""What the scans do, by who decides at this moment: the round of each second, the building of what is lost, and the
comparison with the rows.
"""

from datetime import datetime

from redis import Redis

from scheduler.polling import dispatching
from scheduler.polling.cutover import carrier_side, legacy, legacy_side, sets, standing
from scheduler.polling.dispatching import Dispatched
from scheduler.polling.fleet import initializing, reconciling
from scheduler.polling.system_settings import Mode

BY = "the dispatcher"


def dispatch(redis: Redis, *, now: datetime) -> Dispatched:
    """Do this second's round of whoever decides; amid a cut-over nobody claims.

    A dispatcher that read who decides and then stood still gets nothing of a side that was closed meanwhile.

    Raises:
        redis.RedisError: it is away.
    """
    held = standing.now_holds()
    match held.claims:
        case Mode.CARRIER:
            return dispatching.dispatch(redis, now=now)
        case Mode.LEGACY:
            carrier_side.at_work(redis)  # claims whose holder died: no round of their account frees them
            return legacy.dispatch(redis)
    return Dispatched(note=f"A cut-over to {held.wanted} is under way: no card is claimed until it is done.")


def build_if_lost(redis: Redis, order: int, *, now: datetime) -> None:
    """Build what a round found missing, if it still is: the live order of an account, or the sets of the simple way.

    Raises:
        redis.RedisError, DatabaseError: it can be begun again at any time.
    """
    if order == sets.ORDER:
        legacy_side.build_if_lost(redis, now=now)
    else:
        initializing.rebuild_if_lost(redis, order, by=BY, now=now)


def reconcile(redis: Redis, *, now: datetime) -> str:
    """Compare what decides with the rows, mend it, and return what was mended; amid a cut-over that does so itself.

    Raises:
        redis.RedisError: it is away; a part may be mended.
    """
    match standing.now_holds().claims:
        case Mode.CARRIER:
            mended = reconciling.reconcile_all(redis, now=now)
            return f"{'; '.join(map(str, mended))}." if mended else ""
        case Mode.LEGACY:
            wrong = legacy_side.reconcile(redis, now=now)
            return f"{wrong:,} cards were wrong in the simple way." if wrong else ""
    return ""

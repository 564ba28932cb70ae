"""Why is this card asked, or not, and when next: from its rows and the live order, in words that a person on duty
understands.

`facts` reads; `reasons`, `turns` and `schedules` decide what that means, and are pure.
"""

from datetime import datetime

from redis import Redis

from scheduler.explaining import Scans
from scheduler.explaining.scans import read_scans
from scheduler.polling import connecting
from scheduler.polling.explaining.explanation import Explanation, Situation
from scheduler.polling.explaining.facts import read
from scheduler.polling.explaining.reasons import explained
from scheduler.polling.models import Card

__all__ = ["Explanation", "Situation", "explain"]


def explain(card: Card, *, now: datetime, redis: Redis | None = None, scans: Scans | None = None) -> Explanation:
    """Say what keeps a card from being asked, the strongest reason first, and when it is asked next.

    It asks a fixed number of questions, and bears a Redis that is away: then the rows alone speak.

    Args:
        now: by the database's clock.
        redis: where the live order is; by default that of the settings, asked once and briefly.
        scans: when the scans last ran; by default as the composition tells.
    """
    return explained(read(card, now, redis or connecting.hasty_client(), scans or read_scans()))

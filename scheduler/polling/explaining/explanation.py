"""What an answer to "why is this card not asked" is made of."""

from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum
from typing import Any


class Situation(StrEnum):
    """What an answer comes down to, for programs; people read its sentences."""

    # it is not polled at all
    CARD_OFF = "card_off"
    ACCOUNT_OFF = "account_off"

    # it is polled, and something is in the way
    CUT_OVER = "cut_over"
    LEGACY = "legacy"
    BAD_SETTINGS = "bad_settings"
    HELD = "held"
    NO_TIER = "no_tier"
    NOTHING_POSSIBLE = "nothing_possible"
    REDIS_AWAY = "redis_away"
    ORDER_LOST = "order_lost"
    ORDER_BEING_BUILT = "order_being_built"
    NOT_IN_ORDER = "not_in_order"

    # it is claimed
    IN_WORK = "in_work"
    ON_ITS_WAY = "on_its_way"
    LEASE_LOST = "lease_lost"

    # it is due
    NOBODY_DISPATCHES = "nobody_dispatches"
    NO_POLLER = "no_poller"
    ALL_PLACES_TAKEN = "all_places_taken"
    LIMIT_REACHED = "limit_reached"
    WAITS_ITS_TURN = "waits_its_turn"

    # it is not
    DUE_LATER = "due_later"
    NEVER_DUE = "never_due"


@dataclass(frozen=True, slots=True)
class Reason:
    """One thing that keeps a card from being asked, or says that nothing does: for programs, and for people."""

    situation: Situation
    sentence: str


@dataclass(frozen=True, slots=True)
class Explanation:
    """An answer to "why is this card not asked".

    Attributes:
        reasons: the strongest first; at least one.
        schedule: of each check when it is due, and how asking it went.
        next_at: when it may be asked next, as far as that is known.
    """

    reasons: tuple[Reason, ...]
    schedule: tuple[str, ...]
    next_at: datetime | None

    @property
    def situation(self) -> Situation:
        """The strongest reason."""
        return self.reasons[0].situation

    @property
    def sentences(self) -> tuple[str, ...]:
        """All that there is to say, in the order in which a person reads it."""
        return *(reason.sentence for reason in self.reasons), *self.schedule

    def as_json(self) -> dict[str, Any]:
        """Return the answer for programs; instants in UTC."""
        return {
            "situation": str(self.situation),
            "reasons": [{"situation": str(each.situation), "sentence": each.sentence} for each in self.reasons],
            "schedule": list(self.schedule),
            "next_at": self.next_at.isoformat() if self.next_at else None,
        }

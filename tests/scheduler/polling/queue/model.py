"""A queue without Redis, for comparison: every card is an object, and each rule looks at all of them."""

from dataclasses import dataclass, field
from typing import NamedTuple

from scheduler.polling.states import CheckType

TYPES = tuple(CheckType)
Due = dict[CheckType, int]  # instants in milliseconds; a type that is not due is absent


class Taken(NamedTuple):
    """A claim as a dispatcher sees it."""

    card: int
    token: int
    types: tuple[CheckType, ...]


@dataclass
class PlainClaim:
    """Who has a card."""

    token: int
    lease_end: int
    asked: Due
    executor: str = ""


@dataclass
class PlainCard:
    """A card that is polled."""

    due: Due
    failures: dict[CheckType, int]
    asked: Due = field(default_factory=dict)
    claim: PlainClaim | None = None

    def types_at(self, now: int) -> tuple[CheckType, ...]:
        """Return what is due or asked for."""
        return tuple(
            type_ for type_ in TYPES if any(each.get(type_, now + 1) <= now for each in (self.due, self.asked))
        )


@dataclass
class PlainQueue:
    """What the queue of an account promises, written down as directly as can be.

    Attributes:
        credit: of the priority, in hundredths of a card.
        cooldowns: until when a scene may not ask for a card.
    """

    cards: dict[int, PlainCard] = field(default_factory=dict)
    is_ready: bool = False
    last_token: int = 0
    credit: int = 0
    cooldowns: dict[tuple[int, str], int] = field(default_factory=dict)
    lease_expired: int = 0
    stale_finish: int = 0

    def claim(self, now: int, most: int, limit: int, lease: int, share: int, calls: int, token: int) -> list[Taken]:
        """Claim cards; the first gets this token."""
        self._free_expired(now)
        room = min(most, limit - sum(card.claim is not None for card in self.cards.values()))
        taken: list[Taken] = []
        while len(taken) < room and calls > 0 and (chosen := self._choose(now, share)) is not None:
            card = self.cards[chosen]
            types = card.types_at(now)
            card.claim = PlainClaim(
                token + len(taken), now + lease, {t: at for t, at in card.asked.items() if at <= now}
            )
            card.asked = {t: at for t, at in card.asked.items() if at > now}
            taken.append(Taken(chosen, card.claim.token, types))
            calls -= len(types)
        if taken:
            self.last_token = taken[-1].token
        return taken

    def hold(self, card_id: int, token: int, executor: str, lease_end: int, *, starts: bool) -> bool:
        """Start or renew."""
        claim = self._claim(card_id, token)
        if claim is None or claim.executor not in ({"", executor} if starts else {executor}):
            return False
        claim.executor, claim.lease_end = executor, lease_end
        return True

    def finish(
        self, card_id: int, token: int, due: dict[CheckType, int | None], failures: dict[CheckType, int]
    ) -> bool:
        """End a claim with what came of it."""
        if self._claim(card_id, token) is None:
            self.stale_finish += 1
            return False
        card = self.cards[card_id]
        card.claim = None
        new = card.due | due
        card.due = {type_: at for type_, at in new.items() if at is not None}
        card.failures |= failures
        return True

    def release(self, card_id: int, token: int) -> bool:
        """End a claim as if it had not been made."""
        if self._claim(card_id, token) is None:
            return False
        self._give_back(self.cards[card_id])
        return True

    def request(self, now: int, card_id: int, types: set[CheckType], at: int, scene: str, cooldown: int) -> str:
        """Ask for checks."""
        card = self.cards.get(card_id)
        if card is None:
            return "UNKNOWN"
        if cooldown and self.cooldowns.get((card_id, scene), 0) > now:
            return "COOLING"
        if cooldown:
            self.cooldowns[card_id, scene] = now + cooldown
        merged = {type_: min(at, card.asked.get(type_, at)) for type_ in types}
        if card.asked | merged == card.asked:
            return "MERGED"
        card.asked |= merged
        return "ASKED" if card.claim is None else "AFTER_THIS_RUN"

    def put(self, card_id: int, due: Due, failures: dict[CheckType, int]) -> None:
        """Add or change a card."""
        known = self.cards.setdefault(card_id, PlainCard(due, failures))
        known.due, known.failures = due, failures

    def _claim(self, card_id: int, token: int) -> PlainClaim | None:
        card = self.cards.get(card_id)
        return card.claim if card and card.claim and card.claim.token == token else None

    def _free_expired(self, now: int) -> None:
        for card in self.cards.values():
            if card.claim and card.claim.lease_end <= now:
                self._give_back(card)
                self.lease_expired += 1

    def _give_back(self, card: PlainCard) -> None:
        assert card.claim is not None
        for type_, at in card.claim.asked.items():
            card.asked[type_] = min(at, card.asked.get(type_, at))
        card.claim = None

    def _choose(self, now: int, share: int) -> int | None:
        free = {card_id: card for card_id, card in self.cards.items() if card.claim is None}
        asked = {card_id: min(card.asked.values()) for card_id, card in free.items() if card.asked}
        due = {card_id: min(card.due.values()) for card_id, card in free.items() if card.due}
        first_asked, first_due = (
            min((at, card_id) for card_id, at in lane.items()) if lane else (now + 1, 0) for lane in (asked, due)
        )
        if first_asked[0] > now or first_due[0] > now:
            return next((card_id for at, card_id in (first_asked, first_due) if at <= now), None)
        self.credit += share
        if self.credit < 100:
            return first_due[1]
        self.credit -= 100
        return first_asked[1]

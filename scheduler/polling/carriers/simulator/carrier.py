"""A simulated carrier without its network: accounts that are asked, and what they answer. Time is in seconds."""

import json
import random
import secrets
from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Any

from scheduler.polling.carriers.simulator.accounts import AccountPlan, number_of
from scheduler.polling.carriers.simulator.cards import ACTIVE, STOPPED, SimulatedCard, card_of
from scheduler.polling.carriers.simulator.faults import FaultKind, Faults
from scheduler.polling.carriers.simulator.measuring import Meter
from scheduler.polling.carriers.simulator.replies import REFUSALS, Refusal, Reply, as_utc, done, of_fault

MOST_OF_A_BATCH = 100
READS = ("status", "usage", "real-name", "package")
OF_A_PART = (FaultKind.NOT_OWNED, FaultKind.MISSING)
CHANGES = {"stop": STOPPED, "resume": ACTIVE}
TOKEN = "token"  # noqa: S105 - the endpoint


@dataclass(frozen=True, slots=True)
class Asked:
    """A call as it came.

    Attributes:
        endpoint: token, or what is asked of cards: one of READS and CHANGES.
        iccid: of the card; empty: of many, or of none.
        shown: the bearer's token or key.
        body: as it was sent.
    """

    endpoint: str
    iccid: str = ""
    shown: str = ""
    body: bytes = b""


@dataclass(slots=True)
class SimulatedAccount:
    """An account: its cards, its tokens and what was counted of it."""

    plan: AccountPlan
    faults: Faults
    meter: Meter
    _cards: dict[int, SimulatedCard] = field(default_factory=dict)
    _tokens: dict[str, float] = field(default_factory=dict)

    def answer(self, asked: Asked, now: float, *, passes: bool) -> Reply:
        """Return what the carrier answers.

        Args:
            now: seconds since 1970.
            passes: whether the account's limits let the call pass.
        """
        fault = self.faults.of_call(self.plan.name, asked.endpoint, asked.iccid, now)
        if fault is not None:
            return of_fault(fault, as_utc(now))
        try:
            return self._answered(asked, now, passes)
        except Refusal as refusal:
            return refusal.reply()

    def latency(self) -> float:
        """Return how many seconds this answer takes."""
        plan = self.plan
        return max(plan.latency + random.uniform(-plan.spread, plan.spread), 0.0) / 1000  # noqa: S311 - no secret

    def _answered(self, asked: Asked, now: float, passes: bool) -> Reply:
        if not passes:
            raise REFUSALS["throttle"]
        if asked.endpoint == TOKEN:
            return self._token(asked.body, now)
        self._check(asked.shown, now)
        iccids = [asked.iccid] if asked.iccid else _iccids_in(asked.body)
        if asked.endpoint in CHANGES:
            return self._change(CHANGES[asked.endpoint], iccids, now)
        if asked.iccid:
            self.meter.count_cards(1)
            return done(self._read(asked.endpoint, self._card(asked.iccid, now), now))
        return self._read_many(asked.endpoint, iccids, now)

    # --- who asks ----------------------------------------------------------------------------------------------

    def _token(self, body: bytes, now: float) -> Reply:
        document = _object_in(body)
        if (document.get("user"), document.get("password")) != (self.plan.name, self.plan.password):
            raise REFUSALS["auth"]
        token = secrets.token_urlsafe(24)
        self._tokens = {known: until for known, until in self._tokens.items() if until > now - 3600}
        self._tokens[token] = now + self.plan.token_seconds
        return done({"access_token": token, "expires_in": self.plan.token_seconds})

    def _check(self, shown: str, now: float) -> None:
        if shown == self.plan.key:
            return
        until = self._tokens.get(shown)
        if until is None:
            raise REFUSALS["auth"]
        if until <= now:
            raise REFUSALS["token_expired"]

    # --- cards -------------------------------------------------------------------------------------------------

    def _card(self, iccid: str, now: float) -> SimulatedCard:
        number = number_of(self.plan.name, iccid)
        if number is None or number >= self.plan.cards:
            raise REFUSALS["missing"]
        card = self._cards.get(number)
        if card is None:
            card = self._cards[number] = card_of(number, now)
        card.advance(now)
        return card

    def _read(self, endpoint: str, card: SimulatedCard, now: float) -> dict[str, Any]:
        match endpoint:
            case "status":
                return {"status": card.state}
            case "usage":
                as_of = as_utc(now).isoformat(timespec="seconds")
                return {"used": round(card.used_kb, 1), "unit": "KB", "as_of": as_of}
            case "real-name":
                return {"real_name": card.real_name}
        return {"package": card.package, "allowance": card.allowance_mb, "unit": "MB"}

    def _read_many(self, endpoint: str, iccids: Iterable[str], now: float) -> Reply:
        parts = [part for iccid in iccids if (part := self._part(endpoint, iccid, now)) is not None]
        self.meter.count_cards(len(parts))
        return done({"cards": parts})

    def _part(self, endpoint: str, iccid: str, now: float) -> dict[str, Any] | None:
        """Return what an answer about many says of the card; one that is unknown is left out."""
        fault = self.faults.of_part(self.plan.name, endpoint, iccid, now)
        if fault is not None and fault.kind is FaultKind.SPOIL:
            raise REFUSALS["not_owned"]
        if fault is not None and fault.kind in OF_A_PART:
            return {"iccid": iccid} | REFUSALS[fault.kind].document()
        try:
            return {"iccid": iccid} | self._read(endpoint, self._card(iccid, now), now)
        except Refusal:
            return None

    def _change(self, target: str, iccids: list[str], now: float) -> Reply:
        """Accept the change of all cards, or of none."""
        cards = [self._card(iccid, now) for iccid in iccids]
        for card in cards:
            if now - card.changed_at < self.plan.change_interval:
                raise REFUSALS["cooldown"]
            if card.state == target or card.state not in CHANGES.values():
                raise REFUSALS["state"]
        for card in cards:
            card.change(target, now, takes=self.plan.change_seconds)
        return done({"accepted": len(cards)}, status=202)


def _iccids_in(body: bytes) -> list[str]:
    iccids = _object_in(body).get("iccids")
    if not isinstance(iccids, list) or not 1 <= len(iccids) <= MOST_OF_A_BATCH:
        raise REFUSALS["parameter"]
    return [str(iccid) for iccid in iccids]


def _object_in(body: bytes) -> dict[str, Any]:
    try:
        document = json.loads(body)
    except ValueError:
        raise REFUSALS["parameter"] from None
    if not isinstance(document, dict):
        raise REFUSALS["parameter"]
    return document

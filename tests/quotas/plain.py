"""Quotas as anybody would write them down on paper: no database, no ledger, nothing lazy, one step a unit."""

from dataclasses import dataclass, field
from datetime import datetime, timedelta

TOKEN = timedelta(seconds=60)  # a rate gains one unit in this time


@dataclass(eq=False)  # two that look alike are two
class PlainQuota:
    """One quota."""

    kind: str
    limit: int | None
    now: datetime
    parent: "PlainQuota | None" = None
    used: int = 0
    resets_each: timedelta = timedelta(days=1)
    period: int = 0  # how many have ended
    resets_at: datetime = field(init=False)
    token_from: datetime = field(init=False)
    blocked_until: datetime | None = None

    def __post_init__(self) -> None:
        self.resets_at, self.token_from = self._next_reset(), self.now

    def let_time_pass(self, now: datetime) -> None:
        """Reset and refill."""
        self.now = now
        if self.blocked_until is not None and now >= self.blocked_until:
            self.blocked_until = None
        if self.kind == "periodic" and now >= self.resets_at:
            self.used, self.period, self.resets_at = 0, self.period + 1, self._next_reset()
        while self.kind == "rate" and self.used and now >= self.token_from + TOKEN:
            self.used, self.token_from = self.used - 1, self.token_from + TOKEN

    def begin_anew(self) -> None:
        """Reset before its time."""
        self.used, self.period = 0, self.period + 1

    def change_rule(self, resets_each: timedelta) -> None:
        """End the present period by another rule."""
        self.resets_each = resets_each
        self.resets_at = self._next_reset()

    def spend(self, amount: int) -> None:
        """Use so much."""
        if not self.used:
            self.token_from = self.now
        self.used += amount

    def give_back(self, amount: int, period: int) -> None:
        """Use so much less, if it was in the present period."""
        if period == self.period:
            self.used -= min(amount, self.used)

    def links(self) -> "list[PlainQuota]":
        """Return it and what it is part of."""
        return [self, *(self.parent.links() if self.parent else [])]

    def _next_reset(self) -> datetime:
        midnight = self.now.replace(hour=0, minute=0, second=0, microsecond=0)
        return midnight + ((self.now - midnight) // self.resets_each + 1) * self.resets_each


@dataclass
class PlainCharge:
    """What was charged, and in which period of each link."""

    quota: PlainQuota
    units: int
    periods: list[int]
    refunded: bool = False


@dataclass
class PlainReservation:
    """What is held."""

    quota: PlainQuota
    amount: int
    expires_at: datetime
    state: str = "held"


class PlainBooks:
    """All the quotas, and what became of them."""

    def __init__(self) -> None:
        self.quotas: dict[str, PlainQuota] = {}
        self.charges: dict[tuple[str, str], PlainCharge] = {}
        self.reservations: dict[int, PlainReservation] = {}

    def let_time_pass(self, now: datetime) -> None:
        """Move all clocks."""
        for quota in self.quotas.values():
            quota.let_time_pass(now)

    def available(self, quota: PlainQuota) -> int | None:
        """Return what is left of the quota alone."""
        if quota.blocked_until is not None:
            return 0
        if quota.limit is None:
            return None
        held = (one for one in self.reservations.values() if one.state == "held" and quota in one.quota.links())
        return max(0, quota.limit - quota.used - sum(one.amount for one in held))

    def verdict_on(self, key: str, amount: int) -> str:
        """Return what becomes of a wish: granted, refused, or never."""
        links = self.quotas[key].links()
        if any(link.limit and amount > link.limit for link in links):
            return "never"
        left = [self.available(link) for link in links]
        return "granted" if all(one is None or one >= amount for one in left) else "refused"

    def spend(self, key: str, step: str, amount: int) -> None:
        """Charge every link."""
        quota = self.quotas[key]
        self.charges[key, step] = PlainCharge(quota, amount, [link.period for link in quota.links()])
        for link in quota.links():
            link.spend(amount)

    def refund(self, key: str, step: str) -> None:
        """Give a charge back, once."""
        charge = self.charges[key, step]
        if not charge.refunded:
            charge.refunded = True
            for link, period in zip(charge.quota.links(), charge.periods, strict=True):
                link.give_back(charge.units, period)

"""The cards of a simulated account: what they are, and how time and changes alter them. Time is in seconds."""

from dataclasses import dataclass

# The carrier's words.
ACTIVE, STOPPED, TESTING, STOCK = "ACTIVATED", "SUSPENDED", "TEST_READY", "INVENTORY"
VERIFIED, NEEDED = "VERIFIED", "REQUIRED"
PACKAGES = (("data-100mb", 100), ("data-1gb", 1024), ("data-30gb", 30 * 1024))
# What an active card uses.
KB_A_SECOND = 0.5


@dataclass(slots=True)
class SimulatedCard:
    """A card. Every twentieth is stopped, and so on: see `card_of`."""

    state: str
    real_name: str
    package: str
    allowance_mb: int
    used_kb: float
    at: float  # when used_kb was right
    target: str = ""  # the state that a change will bring, and when
    done_at: float = 0.0
    changed_at: float = float("-inf")

    def advance(self, now: float) -> None:
        """Let the time until now pass."""
        if self.target and now >= self.done_at:
            self._pass(self.done_at)
            self.state, self.target = self.target, ""
        self._pass(now)

    def change(self, target: str, now: float, *, takes: float) -> None:
        """Accept a change, which is done later."""
        self.target, self.done_at, self.changed_at = target, now + takes, now

    def _pass(self, until: float) -> None:
        if self.state == ACTIVE:
            self.used_kb += max(until - self.at, 0.0) * KB_A_SECOND
        self.at = until


def card_of(number: int, now: float) -> SimulatedCard:
    """Return a card as it begins, the same at every start."""
    state = {3: STOPPED, 7: TESTING, 11: STOCK}.get(number % 20, ACTIVE)
    package, allowance_mb = PACKAGES[number % len(PACKAGES)]
    used_kb = float(number * 7919 % (allowance_mb * 1024)) if state in (ACTIVE, STOPPED) else 0.0
    return SimulatedCard(state, NEEDED if number % 10 == 5 else VERIFIED, package, allowance_mb, used_kb, now)

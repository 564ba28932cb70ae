"""The windows of which a provider counts: the tightest of them is the one that matters."""

from collections.abc import Iterable
from dataclasses import dataclass
from datetime import UTC, datetime
from fractions import Fraction

from quotas.provider.observation import Doubts

FAR_AWAY = datetime.max.replace(tzinfo=UTC)


@dataclass(slots=True)
class Window:
    """What was said of one window; None is unknown. Its name is what its headers have in common."""

    name: str = ""
    limit: int | None = None
    remaining: int | None = None
    used: int | None = None
    resets_at: datetime | None = None

    @property
    def is_empty(self) -> bool:
        """Whether nothing is left in it."""
        return self.remaining == 0


def without_contradiction(window: Window, doubts: Doubts) -> Window:
    """Return the window with what is left told from what was used, and without amounts that contradict each other."""
    limit, remaining = window.limit, window.remaining
    if limit is not None and remaining is None and window.used is not None:
        remaining = max(limit - window.used, 0)
    if limit is not None and remaining is not None and remaining > limit:
        doubts.add(f"{window.name} said that {remaining} of {limit} are left, which contradicts itself.")
        limit = remaining = None
    return Window(name=window.name, limit=limit, remaining=remaining, resets_at=window.resets_at)


def tightest(windows: Iterable[Window]) -> Window:
    """Return the window that holds us back most.

    Of the empty ones it is the one that opens last, for all of them must; else the one of which the least share is
    left, of equal shares the smaller; where nobody says what is left, the one with the lowest limit; else the one that
    resets first.
    """
    return min(windows, key=_tightness, default=Window())


def _tightness(window: Window) -> tuple[float | Fraction, ...]:
    opens = (window.resets_at or FAR_AWAY).timestamp()
    if window.is_empty:
        return 0, -opens
    if window.remaining is not None:
        share = Fraction(window.remaining, window.limit) if window.limit else 1
        return 1, share, window.remaining, opens
    if window.limit is not None:
        return 2, window.limit, opens
    return 3, opens

"""Reads one answer's values: what is believed is returned, what is not becomes a doubt."""

from collections.abc import Callable
from datetime import datetime, timedelta
from typing import TypeVar

from quotas.provider.amounts import read_amount, read_smallest_amount
from quotas.provider.instants import NotBelieved, read_instant
from quotas.provider.observation import Doubts

Value = TypeVar("Value")


class Reader:
    """Reads the values of one answer. What was not said, None, is no doubt.

    Args:
        received_at: when the answer came; waits are counted from it.
        doubts: where to note what is not believed.
        their_clock_ahead: by how much the provider's clock is ahead of ours.
    """

    def __init__(self, received_at: datetime, doubts: Doubts, their_clock_ahead: timedelta = timedelta(0)) -> None:
        self.received_at, self.doubts, self._ahead = received_at, doubts, their_clock_ahead

    def amount(self, name: str, text: str | None) -> int | None:
        """Return the amount that this value says first, or None."""
        return self._believed(name, text, read_amount)

    def smallest_amount(self, name: str, text: str | None) -> int | None:
        """Return the smallest amount that this value says, or None."""
        return self._believed(name, text, read_smallest_amount)

    def instant(self, name: str, text: str | None, unit: str = "s") -> datetime | None:
        """Return the instant that this value says, or None."""
        return self._believed(
            name,
            text,
            lambda said: read_instant(said, self.received_at, unit=unit, their_clock_ahead=self._ahead),
        )

    def _believed(self, name: str, text: str | None, read: Callable[[str], Value]) -> Value | None:
        if text is None:
            return None
        try:
            return read(text)
        except NotBelieved as doubt:
            self.doubts.note(name, text, str(doubt))
            return None

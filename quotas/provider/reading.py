"""Reads one answer's values: what is believed is returned, what is not becomes a doubt."""

from datetime import datetime, timedelta

from quotas.provider.amounts import read_amount, read_smallest_amount
from quotas.provider.instants import NotBelieved, read_instant
from quotas.provider.observation import Doubts


class Reader:
    """Reads the values of one answer.

    Args:
        received_at: when the answer came; waits are counted from it.
        their_clock_ahead: by how much the provider's clock is ahead of ours.
        doubts: where to note what is not believed.
    """

    def __init__(self, received_at: datetime, doubts: Doubts, their_clock_ahead: timedelta = timedelta(0)) -> None:
        self.received_at, self.doubts, self._ahead = received_at, doubts, their_clock_ahead

    def amount(self, name: str, text: str) -> int | None:
        """Return the amount that this value says first, or None."""
        try:
            return read_amount(text)
        except NotBelieved as doubt:
            self.doubts.note(name, text, str(doubt))
            return None

    def smallest_amount(self, name: str, text: str) -> int | None:
        """Return the smallest amount that this value says, or None."""
        try:
            return read_smallest_amount(text)
        except NotBelieved as doubt:
            self.doubts.note(name, text, str(doubt))
            return None

    def instant(self, name: str, text: str, unit: str = "s") -> datetime | None:
        """Return the instant that this value says, or None."""
        try:
            return read_instant(text, self.received_at, unit=unit, their_clock_ahead=self._ahead)
        except NotBelieved as doubt:
            self.doubts.note(name, text, str(doubt))
            return None

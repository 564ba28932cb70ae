"""The span of time that the pictures show, and where in it an instant lies."""

from dataclasses import dataclass
from datetime import datetime, timedelta

from django.utils import timezone

HOUR = timedelta(hours=1)
# The whole last day: the hour that has begun, and the 24 before it. The next day has 24 more.
PAST_HOURS = 25
HOURS = 49


@dataclass(frozen=True, slots=True)
class Window:
    """From the start of an hour by the viewer's clocks, 24 hours ago, to the end of one in 24 hours.

    Attributes:
        now: the instant that parts what was from what comes.
        start: where it begins.
    """

    now: datetime
    start: datetime

    @property
    def end(self) -> datetime:
        """Where it ends, not included."""
        return self.start + HOURS * HOUR

    def hour(self, number: int) -> datetime:
        """Return when the hour of that number begins; 0 is the first."""
        return self.start + number * HOUR

    def hour_of(self, instant: datetime) -> int:
        """Return the number of the hour that holds the instant, also outside of the window."""
        return (instant - self.start) // HOUR

    def place(self, instant: datetime) -> float:
        """Return where the instant lies between start (0) and end (100); what is outside lies at the nearer end."""
        return 100 * min(max((instant - self.start) / (self.end - self.start), 0), 1)


def window_around(now: datetime) -> Window:
    """Return the window around now, whose hours are those of the viewer's clocks."""
    shown = timezone.localtime(now)
    into_the_hour = timedelta(minutes=shown.minute, seconds=shown.second, microseconds=shown.microsecond)
    return Window(now, now - into_the_hour - (PAST_HOURS - 1) * HOUR)


def percent(place: float) -> str:
    """Return a place or a width as SVG has it, the same in every language."""
    return f"{place:.2f}%"

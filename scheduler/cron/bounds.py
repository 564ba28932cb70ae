"""A trigger between two instants."""

from dataclasses import dataclass
from datetime import UTC, datetime, timedelta

from scheduler.cron.triggers import Cron, Interval, Once, Stepping

_RESOLUTION = timedelta(microseconds=1)


@dataclass(frozen=True, slots=True)
class Bounded(Stepping):
    """What an inner trigger says from `starts_at` to `ends_at`, both included; None leaves an end open."""

    inner: Cron | Interval | Once
    starts_at: datetime | None = None
    ends_at: datetime | None = None

    def next_after(self, instant: datetime) -> datetime | None:
        """Return the first due instant strictly after this one; None if none is left before the end."""
        if self.starts_at is not None and instant < self.starts_at:
            instant = self.starts_at.astimezone(UTC) - _RESOLUTION
        due = self.inner.next_after(instant)
        return due if due is not None and (self.ends_at is None or due <= self.ends_at) else None

    def latest_until(self, instant: datetime) -> datetime | None:
        """Return the last due instant at or before this one; None if there is none since the start."""
        if self.ends_at is not None:
            instant = min(instant.astimezone(UTC), self.ends_at.astimezone(UTC))
        due = self.inner.latest_until(instant)
        return due if due is not None and (self.starts_at is None or due >= self.starts_at) else None


Trigger = Cron | Interval | Once | Bounded


def unbounded(trigger: Trigger) -> Cron | Interval | Once:
    """Return what the trigger says without its bounds."""
    return trigger.inner if isinstance(trigger, Bounded) else trigger


def bounded(inner: Cron | Interval | Once, starts_at: datetime | None, ends_at: datetime | None) -> Trigger:
    """Return the trigger between two instants; as it is where both ends are open."""
    return inner if starts_at is None and ends_at is None else Bounded(inner, starts_at, ends_at)

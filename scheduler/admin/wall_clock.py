"""Form fields for instants on the clocks of a schedule's own zone, whoever looks at them and from where."""

from datetime import datetime, time
from typing import Any
from zoneinfo import ZoneInfo

from django import forms
from django.utils import timezone
from django.utils.dateparse import parse_datetime

from project.kit.wall_clocks import first_instant


def day_input() -> forms.DateInput:
    """Return the browser's own field for a date."""
    return forms.DateInput(attrs={"type": "date"}, format="%Y-%m-%d")


class WallClockInput(forms.DateTimeInput):
    """The browser's own field for a date and a time."""

    input_type = "datetime-local"

    def __init__(self) -> None:
        super().__init__(attrs={"step": 1})

    def format_value(self, value: Any) -> str | None:
        """Return the time as the browser posts it back: without seconds where there are none."""
        if not isinstance(value, datetime):
            return str(value) if value else None
        return value.isoformat(timespec="seconds" if value.second else "minutes")


class ClockInput(forms.TimeInput):
    """The browser's own field for a time of the day."""

    input_type = "time"

    def __init__(self) -> None:
        super().__init__(attrs={"step": 1})

    def format_value(self, value: Any) -> str | None:
        """Return the time as the browser posts it back: without seconds where there are none."""
        if not isinstance(value, time):
            return str(value) if value else None
        return value.isoformat(timespec="seconds" if value.second else "minutes")


class WallClockField(forms.DateTimeField):
    """A local time without a zone; the form puts it into the schedule's."""

    widget = WallClockInput

    def to_python(self, value: Any) -> datetime | None:
        """Return the local time; one that was written with its offset stays an instant."""
        written = parse_datetime(value.strip()) if isinstance(value, str) and value.strip() else None
        if written is not None and timezone.is_aware(written):
            return written
        with timezone.override("UTC"):  # not the viewer's zone, in which the time might not exist
            local: datetime | None = super().to_python(value)
        return local.replace(tzinfo=None) if local else None


def on_wall(instant: datetime | None, zone: ZoneInfo) -> datetime | None:
    """Return what the zone's clocks show at the instant, to the second."""
    return instant.astimezone(zone).replace(tzinfo=None, microsecond=0) if instant else None


def from_wall(written: datetime | None, zone: ZoneInfo) -> datetime | None:
    """Return the instant of a local time of the zone: its first copy, or the end of the gap that leaves it out."""
    if written is None or timezone.is_aware(written):
        return written
    return first_instant(written, zone)

"""What this machine's clock shows, for what carriers compare with theirs: they sign with the hour and count by it."""

import time
from datetime import UTC, datetime, tzinfo
from zoneinfo import ZoneInfo

CHINA = ZoneInfo("Asia/Shanghai")


def now_in(zone: tzinfo) -> datetime:
    """Return the present instant in a zone."""
    return datetime.fromtimestamp(time.time(), zone)


def last_midnight(zone: tzinfo) -> datetime:
    """Return when the present day of the zone began, in UTC."""
    return now_in(zone).replace(hour=0, minute=0, second=0, microsecond=0).astimezone(UTC)

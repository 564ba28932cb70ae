"""What this machine's clock shows, for what carriers compare with theirs: they sign with the hour and count by it."""

import time
from datetime import UTC, datetime
from zoneinfo import ZoneInfo

CHINA = ZoneInfo("Asia/Shanghai")


def shown(zone: ZoneInfo | None = None) -> datetime:
    """Return the present instant in a zone; None: in UTC."""
    return datetime.fromtimestamp(time.time(), zone or UTC)


def last_midnight(zone: ZoneInfo) -> datetime:
    """Return when the present day of the zone began, in UTC."""
    return shown(zone).replace(hour=0, minute=0, second=0, microsecond=0).astimezone(UTC)

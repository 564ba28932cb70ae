"""When a quota runs out at the rate of the last hours: pure, on plain values."""

from dataclasses import dataclass
from datetime import datetime, timedelta
from zoneinfo import ZoneInfo

from django.utils.translation import gettext as _

# What is spent in these hours is the rate; a longer memory would not notice that the work has changed.
LAST_HOURS = timedelta(hours=6)
# With less than this a rate is a guess, and none is shown.
LEAST_CHARGES = 5
LEAST_TIME = timedelta(hours=1)

_MICROSECOND = timedelta(microseconds=1)
_HOUR = 3_600_000_000  # in microseconds: products with amounts would leave the range of a timedelta
_YEARS = 3650 * 24 * _HOUR  # what lasts ten years at this rate does not run out


@dataclass(frozen=True, slots=True)
class Spending:
    """What was spent in the last hours: one aggregate over the ledger's charges since `now - LAST_HOURS`.

    Attributes:
        units: their sum in whole units, less what was refunded.
        charges: how many there were.
        since: the first of them, so that a quota that was idle before does not look slow.
    """

    units: int
    charges: int
    since: datetime


@dataclass(frozen=True, slots=True)
class Forecast:
    """What becomes of a quota if spending goes on as in the last hours.

    Attributes:
        per_hour: that rate, in units an hour, rounded.
        runs_out_at: when nothing is left; None: it lasts until the reset, or for years where there is none.
        resets_at: the next reset; None: there is none, or nothing is known of it.
    """

    per_hour: int
    runs_out_at: datetime | None
    resets_at: datetime | None

    @property
    def lasts(self) -> bool:
        """Whether it is enough until the reset, or for years."""
        return self.runs_out_at is None


def forecast(
    spending: Spending | None, available: int | None, *, now: datetime, resets_at: datetime | None
) -> Forecast | None:
    """Return whether a periodic or capacity quota lasts at the rate of the last hours.

    Returns None where there is nothing to show: too little is known, or nothing is limited.

    Args:
        spending: None if nothing was charged in the last hours.
        available: what is left, in units; None: unlimited.
        resets_at: when everything is back; None for what a person tops up.
    """
    if available is None or spending is None or _is_thin(spending, now):
        return None
    units, time = max(0, spending.units), (now - spending.since) // _MICROSECOND
    runs_out_at = _runs_out_at(units, time, available, now)
    if runs_out_at is not None and resets_at is not None and runs_out_at >= resets_at:
        runs_out_at = None
    return Forecast((units * _HOUR + time // 2) // time, runs_out_at, resets_at)


def sentence(outlook: Forecast, *, now: datetime, timezone: str) -> str:
    """Return the forecast as a sentence, its instants by the clocks of an IANA zone.

    Args:
        now: as it was given to `forecast`.
    """
    return _wording(outlook, now) % {
        "rate": f"{outlook.per_hour:,}",
        "until": _clock(outlook.runs_out_at, timezone) if outlook.runs_out_at else "",
        "reset": _clock(outlook.resets_at, timezone) if outlook.resets_at else "",
    }


def _wording(outlook: Forecast, now: datetime) -> str:
    if outlook.runs_out_at is None:
        if outlook.resets_at is None:
            return _("Lasts for years at the rate of the last hours (%(rate)s an hour).")
        return _("Lasts until the reset on %(reset)s at the rate of the last hours (%(rate)s an hour).")
    if outlook.runs_out_at <= now:
        return _("Nothing is left at the rate of the last hours (%(rate)s an hour).")
    if outlook.resets_at is None:
        return _("Lasts until %(until)s at the rate of the last hours (%(rate)s an hour).")
    return _("Lasts until %(until)s at the rate of the last hours (%(rate)s an hour); the reset is on %(reset)s.")


def _is_thin(spending: Spending, now: datetime) -> bool:
    return spending.charges < LEAST_CHARGES or now - spending.since < LEAST_TIME


def _runs_out_at(units: int, time: int, available: int, now: datetime) -> datetime | None:
    if available <= 0:
        return now
    if available * time >= units * _YEARS:  # also where nothing is spent
        return None
    return now + available * time // units * _MICROSECOND


def _clock(instant: datetime, timezone: str) -> str:
    return f"{instant.astimezone(ZoneInfo(timezone)):%Y-%m-%d %H:%M} {timezone}"

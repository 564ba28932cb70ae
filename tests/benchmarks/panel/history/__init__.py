"""A system that has been at work for three months: every table of the control panel, in proportion."""

from datetime import datetime

from tests.benchmarks.panel.history.alerts import lay_down_alerts
from tests.benchmarks.panel.history.cards import lay_down_cards, lay_down_work_on_cards
from tests.benchmarks.panel.history.people import lay_down_people
from tests.benchmarks.panel.history.quotas import lay_down_quotas
from tests.benchmarks.panel.history.schedules import lay_down_runs, lay_down_schedules, lay_down_waits
from tests.benchmarks.panel.history.size import Size

__all__ = ["Size", "fill", "fill_runs"]

SCHEDULED = (lay_down_quotas, lay_down_schedules, lay_down_runs)


def fill(size: Size, now: datetime) -> None:
    """Insert the rows into empty tables."""
    others = (lay_down_waits, lay_down_cards, lay_down_work_on_cards, lay_down_alerts)
    for lay_down in (lay_down_people, *SCHEDULED, *others):
        lay_down(size, now)


def fill_runs(size: Size, now: datetime) -> None:
    """Insert schedules and runs, with the quotas that they name, into empty tables."""
    for lay_down in SCHEDULED:
        lay_down(size, now)

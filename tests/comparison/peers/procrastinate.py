"""procrastinate: what its periodic deferrer would defer. It needs no database for that."""

from datetime import UTC, datetime, timedelta

from procrastinate import App
from procrastinate.periodic import PeriodicDeferrer
from procrastinate.testing import InMemoryConnector

from tests.comparison.faults import SUSPENDED
from tests.comparison.peers.answering import report

NOON = datetime(2026, 6, 1, 12, 0, 10, tzinfo=UTC)  # and ten seconds


def suspended() -> str:
    """A worker is suspended for three hours, with a task of every minute."""
    app = App(connector=InMemoryConnector())
    app.periodic(cron="* * * * *")(app.task(name="noop")(lambda timestamp: None))
    deferrer = PeriodicDeferrer(app.periodic_registry)
    list(deferrer.get_previous_tasks(at=NOON.timestamp()))
    woken = NOON + timedelta(hours=3)
    return f"{len(list(deferrer.get_previous_tasks(at=woken.timestamp())))} jobs at once"


if __name__ == "__main__":
    report("procrastinate", faults={SUSPENDED: suspended()})

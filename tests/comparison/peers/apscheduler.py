"""APScheduler 3: its trigger is asked for the next time after the previous one, as its scheduler asks."""

from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from zoneinfo import ZoneInfo

import time_machine
from apscheduler.events import EVENT_JOB_EXECUTED, EVENT_JOB_MISSED
from apscheduler.executors.debug import DebugExecutor
from apscheduler.schedulers.base import BaseScheduler
from apscheduler.triggers.cron import CronTrigger

from tests.comparison.cases import Case
from tests.comparison.faults import SUSPENDED
from tests.comparison.peers.answering import JUST_BEFORE, answers, report


def ask(case: Case) -> Iterator[datetime]:
    """Yield each next fire time, given the previous one and a moment behind it."""
    trigger = CronTrigger.from_crontab(case.cron, timezone=ZoneInfo(case.zone))
    previous, now = None, case.after - JUST_BEFORE
    while (due := trigger.get_next_fire_time(previous, now)) and due.timestamp() < case.until.timestamp():
        yield due
        previous, now = due, due.astimezone(case.after.tzinfo) + timedelta(microseconds=1)


class Still(BaseScheduler):
    """A scheduler without a loop of its own: it looks for due jobs when it is told to."""

    def wakeup(self) -> None:
        """Wait to be told."""

    def shutdown(self, wait: bool = True) -> None:
        """Nothing runs beside the caller."""
        super().shutdown(wait)

    def look(self) -> None:
        """Do what its loop does when it wakes up."""
        self._process_jobs()


def suspended() -> str:
    """The clock jumps over three hours, with a job of every minute and its usual options."""
    noon = datetime(2026, 6, 1, 12, 0, 10, tzinfo=UTC)
    events: list[int] = []
    scheduler = Still(executors={"default": DebugExecutor()}, timezone=UTC)
    with time_machine.travel(noon, tick=False):
        scheduler.start()
        scheduler.add_job(lambda: None, CronTrigger(minute="*", timezone=UTC))
    scheduler.add_listener(lambda event: events.append(event.code), EVENT_JOB_EXECUTED | EVENT_JOB_MISSED)
    with time_machine.travel(noon + timedelta(hours=3), tick=False):
        scheduler.look()
    return f"{events.count(EVENT_JOB_EXECUTED)} runs; {events.count(EVENT_JOB_MISSED)} given up as missed"


if __name__ == "__main__":
    report("APScheduler", cron=answers(ask, ValueError), faults={SUSPENDED: suspended()})

"""croniter: the iterator that it is, from just before the span to its end."""

from collections.abc import Iterator
from datetime import datetime
from zoneinfo import ZoneInfo

from croniter import CroniterError, croniter

from tests.comparison.cases import Case
from tests.comparison.peers.answering import JUST_BEFORE, answers, report


def ask(case: Case) -> Iterator[datetime]:
    """Yield what it iterates over."""
    iterator = croniter(case.cron, (case.after - JUST_BEFORE).astimezone(ZoneInfo(case.zone)))
    while (due := iterator.get_next(datetime)).timestamp() < case.until.timestamp():
        yield due


if __name__ == "__main__":
    report("croniter", cron=answers(ask, CroniterError))

"""cronsim: the iterator that it is, from just before the span to its end."""

from collections.abc import Iterator
from datetime import datetime
from itertools import takewhile
from zoneinfo import ZoneInfo

from cronsim import CronSim, CronSimError

from tests.comparison.cases import Case
from tests.comparison.peers.answering import JUST_BEFORE, answers, report


def ask(case: Case) -> Iterator[datetime]:
    """Return what it iterates over."""
    iterator = CronSim(case.cron, (case.after - JUST_BEFORE).astimezone(ZoneInfo(case.zone)))
    return takewhile(lambda due: due.timestamp() < case.until.timestamp(), iterator)


if __name__ == "__main__":
    report("cronsim", cron=answers(ask, CronSimError))

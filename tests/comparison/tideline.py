"""Tideline's own answers, from the functions that its scan calls. They need Django and an empty database."""

from collections.abc import Callable, Iterable, Iterator
from datetime import datetime

from django.core.exceptions import ValidationError
from django.db import transaction

from scheduler import schedules
from scheduler.cron import TriggerError, cron
from scheduler.firing import fire_all_due
from scheduler.models import Fire, Schedule, TaskRun
from tests.comparison import faults
from tests.comparison.cases import Case
from tests.comparison.peers.answering import answers
from tests.scheduler.factories import DAY, HOUR, MINUTE, NOW, SECOND, make_schedule, utc

TWO = utc("2026-06-02 02:00")


class Killed(Exception):
    """The end of a process before its transaction was committed."""


def cron_answers() -> dict[str, dict[str, object]]:
    """Return the answers to the cases."""
    return answers(_ask, TriggerError)


def _ask(case: Case) -> Iterator[datetime]:
    return cron(case.cron, case.zone).instants(case.after, case.until)


def seen_of_faults() -> dict[str, str]:
    """Perform every fault, each on rows of its own which are gone afterwards."""
    return {name: _performed(fault) for name, fault in FAULTS.items()}


def _performed(fault: Callable[[], str]) -> str:
    with transaction.atomic():
        seen = fault()
        transaction.set_rollback(True)
    return seen


def away() -> str:
    """Down over the instant of a daily schedule that has four hours of grace."""
    make_schedule(due=TWO, misfire_grace_seconds=4 * 3600)
    _scan(_minutes(TWO + 3 * HOUR, TWO + DAY + HOUR))
    return _said()


def switched() -> str:
    """Off and on by what the admin's actions call."""
    schedule = make_schedule(cron="0 * * * *", due=NOW)
    return _off_and_on(
        lambda now: schedules.pause(schedule, now=now, reason=""), lambda now: schedules.enable(schedule, now=now)
    )


def updated() -> str:
    """Off and on past all that our functions do at a pause."""
    make_schedule(cron="0 * * * *", due=NOW)
    rows = Schedule.objects.all()
    return _off_and_on(lambda _: rows.update(enabled=False), lambda _: rows.update(enabled=True))


def _off_and_on(off: Callable[[datetime], object], on: Callable[[datetime], object]) -> str:
    off(NOW - SECOND)
    _scan([NOW, NOW + HOUR])
    on(NOW + 3 * HOUR + 10 * MINUTE)
    _scan(_minutes(NOW + 3 * HOUR + 10 * MINUTE, NOW + 4 * HOUR + MINUTE))
    return _said()


def killed() -> str:
    """Killed before its transaction is committed, then after it: there is nothing else that is remembered."""
    make_schedule(once_at=NOW, due=NOW)
    try:
        with transaction.atomic():
            fire_all_due(now=NOW)
            raise Killed
    except Killed:
        _scan([NOW, NOW + MINUTE])
    return _said()


def doubled() -> str:
    """Each of two scans in each minute."""
    make_schedule(due=TWO)
    _scan([now for now in (TWO - MINUTE, TWO, TWO + MINUTE) for _ in range(2)])
    return _said()


def suspended() -> str:
    """No scan for three hours."""
    make_schedule(cron="* * * * *", due=NOW)
    _scan([NOW])
    TaskRun.objects.all().delete()
    _scan([NOW + 3 * HOUR + 10 * SECOND])
    return _said()


def broken() -> str:
    """31 April, which has to be written past our refusal."""
    make_schedule(cron="0 * * * *", due=NOW)
    row = make_schedule(due=NOW)
    refused = _refuses(row, "0 12 31 4 *")
    Schedule.objects.filter(pk=row.pk).update(cron="0 12 31 4 *")
    _scan([NOW])
    row.refresh_from_db()
    told = Fire.objects.filter(schedule=row, outcome="failed_to_start").exists() and row.broken_reason
    return f"{_said()}; 31 April is {refused}, and past that {'recorded as broken' if told else 'passed over'}"


def seven() -> str:
    """Weekday 7."""
    sunday = utc("2026-06-07 07:58")
    make_schedule(cron="0 8 * * 7", now=sunday)
    _scan(_minutes(sunday, sunday + 7 * MINUTE))
    return _said()


FAULTS: dict[str, Callable[[], str]] = {
    faults.AWAY: away,
    faults.SWITCHED: switched,
    faults.UPDATED: updated,
    faults.KILLED: killed,
    faults.DOUBLED: doubled,
    faults.SUSPENDED: suspended,
    faults.BROKEN: broken,
    faults.SEVEN: seven,
}


def _refuses(schedule: Schedule, expression: str) -> str:
    schedule.cron = expression
    try:
        schedules.prepare(schedule, now=NOW)
    except ValidationError:
        return "refused when saved"
    return "accepted when saved"


def _scan(instants: Iterable[datetime]) -> None:
    for now in instants:
        fire_all_due(now=now)


def _minutes(start: datetime, end: datetime) -> Iterator[datetime]:
    while start < end:
        yield start
        start += MINUTE


def _said() -> str:
    """Return when runs were made, and what was recorded as left out, in words."""
    made = [f"{run.created_at:%m-%d %H:%M}" for run in TaskRun.objects.order_by("created_at")]
    skips = Fire.objects.filter(missed_count__isnull=False).order_by("fire_at")
    recorded = "".join(f"; one recorded skip of {skip.missed_count}" for skip in skips)
    return (f"runs at {', '.join(made)}" if made else "no run") + recorded

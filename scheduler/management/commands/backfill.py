"""`manage.py backfill`: a range of data days, one run a day, cancelled as one."""

from argparse import ArgumentParser
from datetime import datetime
from typing import Any

from django.core.management.base import CommandError
from django.db.models import Count, Q

from project.kit.sentences import counted
from scheduler.backfilling import cancel_backfill, open_backfill
from scheduler.management.following import Glance, follow
from scheduler.management.lookups import day, find_backfill, find_schedule
from scheduler.management.started import add_wait
from scheduler.management.verbs import Status, Told, Verb, actor
from scheduler.models import Backfill, TaskRun
from scheduler.states import RunState


class Command(Verb):
    """Open a backfill, or cancel what is left of one."""

    help = "Run a schedule for each data day from FIRST to LAST, beside its plan; or --cancel what is left of it."

    def add_arguments(self, parser: ArgumentParser) -> None:
        """Declare what can be said."""
        super().add_arguments(parser)
        parser.add_argument("name", nargs="?", metavar="NAME", help="name or id of the schedule")
        parser.add_argument("first", nargs="?", type=day, metavar="FIRST", help="first data day")
        parser.add_argument("last", nargs="?", type=day, metavar="LAST", help="last data day")
        parser.add_argument("--at-once", type=int, default=1, metavar="N", help="at most so many runs at once (1)")
        parser.add_argument("--again", action="store_true", help="also the days that are done")
        parser.add_argument("--reason", default="", help="why, for the history")
        parser.add_argument("--cancel", metavar="ID", help="cancel what is left of the backfill of this id")
        add_wait(parser)

    def act(self, options: dict[str, Any], now: datetime) -> Told:
        """Open or cancel, and wait if asked."""
        if options["cancel"] is not None:
            return _cancelled(options, now)
        if options["last"] is None:
            raise CommandError("Say which schedule and which days: backfill NAME FIRST LAST, or backfill --cancel ID.")
        backfill = open_backfill(
            find_schedule(options["name"]),
            options["first"],
            options["last"],
            now=now,
            actor=actor(),
            parallel=options["at_once"],
            again=options["again"],
            reason=options["reason"],
        )
        return _waited_for(backfill) if options["wait"] else _told(backfill, Status.DONE)


def _cancelled(options: dict[str, Any], now: datetime) -> Told:
    if options["name"] is not None:
        raise CommandError("--cancel takes the id of a backfill and no schedule: backfill --cancel ID.")
    backfill = find_backfill(options["cancel"])
    count = cancel_backfill(backfill, now=now, actor=actor(), reason=options["reason"])
    if not count:
        raise CommandError(f"Nothing is left of backfill {backfill.pk}: all of its runs have ended.")
    sentence = (
        f"Backfill {backfill.pk} is cancelled: {counted(count, 'run')}. What is running ends at its next checkpoint."
    )
    return Told([sentence], {**_values(backfill), "cancelled_runs": count})


def _waited_for(backfill: Backfill) -> Told:
    try:
        follow(lambda: _glance(backfill))
    except KeyboardInterrupt:
        return _told(backfill, Status.INTERRUPTED)
    states = set(TaskRun.objects.filter(backfill=backfill).values_list("state", flat=True))
    return _told(backfill, Status.DONE if states == {RunState.DONE} else Status.NOT_WELL)


def _glance(backfill: Backfill) -> Glance:
    counted = _counts(backfill)
    says = f"Backfill {backfill.pk}" + (f", {counted['not_done']} not done well" if counted["not_done"] else "")
    return Glance(f"{says}:", counted["ended"], counted["runs"], counted["ended"] == counted["runs"])


def _told(backfill: Backfill, status: Status) -> Told:
    values = _values(backfill)
    sentence = (
        f"Backfill {backfill.pk} of “{backfill.schedule.name}”, {backfill.first_day} to {backfill.last_day}:"
        f" {counted(values['runs'], 'run')}, {values['ended']} ended, {values['not_done']} of these not done."
    )
    return Told([sentence], values, status)


def _values(backfill: Backfill) -> dict[str, Any]:
    return {"backfill": backfill.pk, "first": backfill.first_day, "last": backfill.last_day, **_counts(backfill)}


def _counts(backfill: Backfill) -> dict[str, int]:
    ended = Q(finished_at__isnull=False)
    counted: dict[str, int] = TaskRun.objects.filter(backfill=backfill).aggregate(
        runs=Count("pk"), ended=Count("pk", ended), not_done=Count("pk", ended & ~Q(state=RunState.DONE))
    )
    return counted

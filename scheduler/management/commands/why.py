"""`manage.py why`: why did this run, or not run."""

import re
from argparse import ArgumentParser
from collections.abc import Iterator
from datetime import datetime
from typing import Any

from django.core.management.base import CommandError

from scheduler import cron
from scheduler.explaining import Explanation, explain, explain_run, next_in_words
from scheduler.management.lookups import find_schedule_or_run, read_instant
from scheduler.management.verbs import Told, Verb
from scheduler.models import Schedule, TaskRun


class Command(Verb):
    """Say from the rows which fire, which run, what it waits for, who holds it, and what happens next."""

    help = "Say why a schedule (name or id) or a run ('#12') did or did not run, and what happens next."

    def add_arguments(self, parser: ArgumentParser) -> None:
        """Declare what can be asked."""
        super().add_arguments(parser)
        parser.add_argument("name", metavar="NAME", help="name or id of a schedule, or '#12' for a run")
        parser.add_argument(
            "--at", metavar="TIME", help="the due time that is meant: ISO, or 02:30 for today's; in the schedule's zone"
        )

    def act(self, options: dict[str, Any], now: datetime) -> Told:
        """Answer."""
        explanation = _explained(find_schedule_or_run(options["name"]), options["at"], now)
        sentences = [line for part in explanation.chain() for line in _lines(part, now)]
        return Told(sentences, explanation.as_json())


def _explained(about: Schedule | TaskRun, at: str | None, now: datetime) -> Explanation:
    if isinstance(about, Schedule):
        return explain(about, at=_instant(at, about, now) if at is not None else None, now=now)
    if at is not None:
        raise CommandError("--at goes with a schedule; a run is asked about as it is now.")
    return explain_run(about, now=now)


def _instant(text: str, schedule: Schedule, now: datetime) -> datetime:
    try:
        place = cron.zone(schedule.timezone)
    except cron.TriggerError:  # that it is broken is the answer, whatever is asked
        place = cron.zone("UTC")
    today = re.fullmatch(r"\d\d:\d\d(:\d\d)?", text.strip())
    written = f"{now.astimezone(place).date()}T{text.strip()}" if today else text
    return read_instant("--at", written, place)


def _lines(part: Explanation, now: datetime) -> Iterator[str]:
    yield part.answer
    labelled = {
        "waits for": part.waits_for,
        "held by": part.held_by,
        "next": next_in_words(part, now),
        "shown by": ", ".join(f"{row.kind} #{row.id}" for row in part.rows),
    }
    yield from (f"  {label:<9}  {said}" for label, said in labelled.items() if said)

"""`manage.py import_celery_beat`: run here, and durably, what celery beat runs now."""

import json
from argparse import ArgumentParser
from collections.abc import Iterator
from typing import Any

from django.core.exceptions import ImproperlyConfigured
from django.core.management.base import BaseCommand, CommandError
from django.db import OperationalError, ProgrammingError

from project.kit.clock import database_now
from scheduler.cron import TriggerError, zone
from scheduler.importing.beat_rows import NoDatabase, beat_at, import_rows, plan, runs_twice
from scheduler.importing.celery_beat import Surroundings
from scheduler.importing.items import Item, Outcome
from scheduler.jobs.celery_names import registered_tasks, scans
from scheduler.jobs.registry import BadParams, get_job
from scheduler.management.listing import (
    DRY_RUN,
    counts,
    counts_as_json,
    fail_if_incomplete,
    item_as_json,
    item_lines,
    size,
    summary,
)


class Command(BaseCommand):
    """List every periodic task of django-celery-beat and what becomes of it; with --apply, make it so."""

    help = (
        "Import the periodic tasks of django-celery-beat, from this database or from another one. Without --apply "
        "nothing is written."
    )

    def add_arguments(self, parser: ArgumentParser) -> None:
        """Declare what can be said."""
        parser.add_argument("--database-url", metavar="URL", help="the database that holds the rows (Tideline's own)")
        parser.add_argument("--broker-url", metavar="URL", help="where tasks that are not registered here are sent")
        parser.add_argument("--result-backend", metavar="URL", help="where the results of tasks that are sent are read")
        parser.add_argument("--queue", metavar="NAME", help="the queue of tasks that are sent and name none (celery)")
        parser.add_argument("--tz", metavar="ZONE", default="UTC", help="the zone of the data days of rows without one")
        parser.add_argument("--take-over", action="store_true", help="disable in beat what is imported")
        parser.add_argument("--apply", action="store_true", help="create the schedules")
        parser.add_argument("--json", action="store_true", help="print what becomes of each row as JSON")

    def handle(self, *args: Any, **options: Any) -> None:
        """List, and import if asked; fail at the end if something could not be read."""
        try:
            items = _items(options, _surroundings(options))
        except (BadParams, NoDatabase) as error:
            raise CommandError(str(error)) from error
        except TriggerError as error:
            raise CommandError(error.message) from error
        except (ImproperlyConfigured, OperationalError, ProgrammingError) as error:
            raise CommandError(f"The database cannot be used: {str(error).splitlines()[0]}") from error
        report = _as_json if options["json"] else _as_text
        self.stdout.write("\n".join(report(items, options)))
        fail_if_incomplete(counts(items), "row")


def _surroundings(options: dict[str, Any]) -> Surroundings:
    names = ("broker_url", "result_backend", "queue")
    elsewhere = {name: options[name] for name in names if options[name] is not None}
    get_job("celery").read_params({"task": "any", **elsewhere})  # wrong here, it would be wrong in every row
    return Surroundings(registered_tasks(), scans(), elsewhere, zone(options["tz"]).key)


def _items(options: dict[str, Any], here: Surroundings) -> list[Item]:
    with beat_at(options["database_url"]) as beat:
        now = database_now()
        if options["apply"]:
            return import_rows(beat, here, now=now, take_over=options["take_over"])
        return plan(beat, here, now=now)


# --- for people ------------------------------------------------------------------------------------------------


def _as_text(items: list[Item], options: dict[str, Any]) -> Iterator[str]:
    yield f"django-celery-beat: {size(items, 'row') or 'no rows'}."
    for item in items:
        yield from item_lines(item, str(item.number))
        yield from (f"      {note}" for note in item.notes)
    yield ""
    yield f"{summary(counts(items))}."
    yield from _conclusion(items, options)


def _conclusion(items: list[Item], options: dict[str, Any]) -> Iterator[str]:
    if counts(items)[Outcome.NEW]:
        yield DRY_RUN
    if twice := sum(runs_twice(item) for item in items):
        yield f"Beat runs {twice} of these: --apply --take-over disables them there, in the same transaction."
    elif options["take_over"] and options["apply"]:
        yield "Beat notices within seconds what is disabled; what falls due before that, both may run."
    yield from _warnings(items)


def _warnings(items: list[Item]) -> list[str]:
    if not any("broker_url" in item.params and "result_backend" not in item.params for item in items):
        return []
    return ["Without --result-backend it is not known how the tasks end that are sent to the other application."]


# --- for programs ----------------------------------------------------------------------------------------------


def _as_json(items: list[Item], options: dict[str, Any]) -> Iterator[str]:
    report = {
        "applied": options["apply"],
        "counts": counts_as_json(counts(items)),
        "rows": [{"row": item.number, **item_as_json(item), "runs_in_beat": item.runs_there} for item in items],
        "warnings": _warnings(items),
    }
    yield json.dumps(report, indent=1, ensure_ascii=False)

"""`manage.py verify`: is what was sealed still as it was."""

import sys
from argparse import ArgumentParser
from collections.abc import Iterable
from datetime import datetime
from typing import Any

from django.core.management.base import CommandError

from scheduler import sealing
from scheduler.management.following import Glance, shown_on
from scheduler.management.lookups import find_schedule_or_run
from scheduler.management.verbs import Status, Told, Verb
from scheduler.models import TaskRun


class Command(Verb):
    """Compute the seals of ended runs again, and compare."""

    help = "Compute the seal of a run ('#12'), or of every ended run of a schedule, again, and compare."

    def add_arguments(self, parser: ArgumentParser) -> None:
        """Declare what can be said."""
        super().add_arguments(parser)
        parser.add_argument("name", metavar="NAME", help="name or id of a schedule, or '#12' for a run")

    def act(self, options: dict[str, Any], now: datetime) -> Told:
        """Verify one run, or all of a schedule."""
        about = find_schedule_or_run(options["name"])
        if isinstance(about, TaskRun):
            return _told([_sealed(about).pk])
        sealed = TaskRun.objects.filter(schedule=about).exclude(seal="").order_by("pk")
        run_ids = list(sealed.values_list("pk", flat=True))
        if not run_ids:
            raise CommandError(f"No run of “{about.name}” is sealed yet.")
        return _told(run_ids)


def _sealed(run: TaskRun) -> TaskRun:
    if run.finished_at is None:
        raise CommandError(f"Run #{run.pk} has not ended ({run.get_state_display()}), so it has no seal yet.")
    if not run.seal:
        raise CommandError(f"Run #{run.pk} has ended and is not sealed yet; the next scan seals it.")
    return run


def _told(run_ids: list[int]) -> Told:
    changed = [run_id for run_id, fits in zip(run_ids, _verified(run_ids), strict=True) if not fits]
    values = {"verified": len(run_ids), "changed": changed}
    if not changed:
        what = f"run #{run_ids[0]} fits" if len(run_ids) == 1 else f"each of {len(run_ids):,} runs fits"
        return Told([f"The seal of {what}: it is as it was when it was sealed."], values)
    listed = ", ".join(f"#{run_id}" for run_id in changed)
    return Told(
        [f"Changed after they were sealed: {listed} ({len(changed)} of {len(run_ids):,})."], values, Status.NOT_WELL
    )


def _verified(run_ids: list[int]) -> Iterable[bool]:
    with shown_on(sys.stderr) as show:
        for number, run_id in enumerate(run_ids, start=1):
            yield sealing.verify(run_id)
            if len(run_ids) > 1:
                show(Glance("Verified:", number, len(run_ids)))

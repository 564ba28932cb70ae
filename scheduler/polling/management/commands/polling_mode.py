"""`manage.py polling_mode`: begin a cut-over to another way of deciding, and watch it."""

import time
from argparse import ArgumentParser
from collections.abc import Iterator
from datetime import datetime
from typing import Any

from redis.exceptions import RedisError

from project.kit import commands
from project.kit.clock import database_now
from project.kit.commands import Status, Told, actor
from scheduler.polling import connecting
from scheduler.polling.cutover import standing, switching
from scheduler.polling.cutover.standing import Standing
from scheduler.polling.models import Cutover
from scheduler.polling.system_settings import Mode

LOOK_SECONDS = 1.0


class Command(commands.Verb):
    """Begin a cut-over, or tell which way holds and how far the last one is."""

    help = (
        "Change who decides which card is asked next: carrier (each account at its own pace) or legacy (one message a"
        " card and check). No card is claimed until it is done. The scans lead it; interrupting this changes nothing."
    )
    refusals = (RedisError,)

    def add_arguments(self, parser: ArgumentParser) -> None:
        """Declare what can be said."""
        super().add_arguments(parser)
        parser.add_argument("mode", nargs="?", choices=list(map(str, Mode)), help="none: tell which one holds")
        parser.add_argument("--watch", action="store_true", help="lead it on from here too, and wait until it is done")

    def act(self, options: dict[str, Any], now: datetime) -> Told:
        """Begin it, if a mode is named, and tell which way holds and how far it is."""
        if options["mode"]:
            row: Cutover | None = switching.start(Mode(options["mode"]), actor=f"{actor()} (command)", now=now)
        else:
            row = Cutover.objects.first()
        if options["watch"]:
            for line in _watched():
                self.stderr.write(line)
        if row is not None:
            row.refresh_from_db()
        return _told(standing.now_holds(), row, waited=options["watch"])


def _watched() -> Iterator[str]:
    """Lead the cut-over to its end, and yield what it is at whenever that changes."""
    said = ""
    while (row := switching.advance(connecting.client(), now=database_now())) is not None:
        line = f"{row.get_phase_display()}: {row.note}"
        if line != said:
            yield line
        said = line
        time.sleep(LOOK_SECONDS)


def _told(held: Standing, row: Cutover | None, *, waited: bool) -> Told:
    """Tell which way holds, and how far the last cut-over is: that need not have led there."""
    if row is None:
        return Told([_holding(held), "There was no cut-over yet."], {"mode": held.mode, "cutover": None})
    counts = ", ".join(f"{name.replace('_', ' ')} {count:,}" for name, count in row.progress.items())
    last = f"Last cut-over, to {row.wanted}: {row.get_phase_display()}. {row.note}".rstrip()
    values = {name: getattr(row, name) for name in ("wanted", "phase", "note", "progress", "started_at", "ended_at")}
    status = Status.NOT_WELL if waited and row.ended_at is None else Status.DONE
    sentences = [_holding(held), last, *([f"Counted: {counts}."] if counts else [])]
    return Told(sentences, {"mode": held.mode, "cutover": values}, status)


def _holding(held: Standing) -> str:
    if held.claims is None:
        return f"{held.mode} decides until the cut-over to {held.wanted} is done; no card is claimed meanwhile."
    return f"{held.mode} decides."

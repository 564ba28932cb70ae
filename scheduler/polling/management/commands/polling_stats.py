"""`manage.py polling_stats`: how the polling of each account goes."""

import time
from argparse import ArgumentParser
from collections.abc import Sequence
from contextlib import suppress
from datetime import datetime, timedelta
from typing import Any

from django.core.management.base import CommandError
from redis.exceptions import RedisError

from project.kit import commands
from project.kit.clock import database_now
from project.kit.commands import Told
from project.kit.spans import span
from project.kit.tables import table
from quotas.ratelimit import Window
from scheduler.polling import accounts, connecting, stats
from scheduler.polling.management.lookups import find_accounts
from scheduler.polling.policy import Demand
from scheduler.polling.stats import AccountStats

LOOK_EVERY_SECONDS = 2.0
pause = time.sleep

HEADINGS = (
    *("ACCOUNT", "STANDING", "CARDS", "DUE", "ASKED", "WORK", "CALLS/S", "LIMIT", "WAIT", "NOT MADE"),
    *("DONE", "EXPIRED", "STALE", "ALERTS", "WANTED", "CYCLE"),
)
TEXTS = ("ACCOUNT", "STANDING", "LIMIT")


class Command(commands.Verb):
    """Tell it once, or again and again."""

    help = (
        "Say of each active carrier account how many cards wait and are in work, how many calls it makes, what went"
        " wrong, and whether the tiers ask for more than its limit allows."
    )
    refusals = (RedisError,)

    def add_arguments(self, parser: ArgumentParser) -> None:
        """Declare what can be said."""
        super().add_arguments(parser)
        parser.add_argument(
            "--account", action="append", default=[], metavar="NAME", help="only this account; may be repeated"
        )
        parser.add_argument("--watch", action="store_true", help="look again and again, until Ctrl-C")

    def act(self, options: dict[str, Any], now: datetime) -> Told:
        """Look, and tell what is seen."""
        if options["watch"] and options["json"]:
            raise CommandError("--watch is for people; programs ask with --json as often as they want.")
        if options["watch"]:
            _watch(options["account"])
        seen = _seen(options["account"], database_now())
        return Told(_lines(seen), {"accounts": [each.as_json() for each in seen]})


def _watch(names: Sequence[str]) -> None:
    """Show it anew each time, until somebody interrupts that."""
    from rich.console import Console
    from rich.live import Live
    from rich.text import Text

    with suppress(KeyboardInterrupt), Live(console=Console(), auto_refresh=False, transient=True) as shown:
        while True:
            shown.update(Text("\n".join(_lines(_seen(names, database_now())))), refresh=True)
            pause(LOOK_EVERY_SECONDS)


def _seen(names: Sequence[str], now: datetime) -> list[AccountStats]:
    return stats.of_accounts(connecting.client(), find_accounts(names), now=now)


def _lines(seen: Sequence[AccountStats]) -> list[str]:
    if not seen:
        return ["There is no active account yet."]
    lines = table(HEADINGS, map(_row, seen), figures=[each for each in HEADINGS if each not in TEXTS])
    if beyond := [f"“{each.account}”" for each in seen if not each.asked.demand.feasible]:
        lines.append(f"The tiers want more calls than can be made of {', '.join(beyond)}.")
    return lines


def _row(each: AccountStats) -> Sequence[str]:
    counts, traffic, asked = each.live.counts, each.live.traffic, each.asked
    limits = accounts.params_of(each.account).rate_windows
    return (
        each.account.name,
        each.standing,
        f"{asked.cards:,}",
        f"{counts.due:,}",
        f"{counts.asked:,}",
        f"{counts.running:,}",
        f"{traffic.rate:,.1f}",
        " + ".join(map(_in_words, limits)) or "none",
        span(traffic.waited / traffic.waits) if traffic.waits else "–",
        f"{traffic.timeouts:,}",
        f"{counts.finished:,}",
        f"{counts.lease_expired:,}",
        f"{counts.stale_finish:,}",
        f"{each.open_alerts:,}",
        _wanted(asked.demand),
        span(asked.full_cycle) if asked.full_cycle is not None else "–",
    )


def _in_words(window: Window) -> str:
    unit = _UNITS.get(window.seconds)
    return f"{window.limit:,}/{unit or span(timedelta(seconds=window.seconds))}"


_UNITS: dict[float, str] = {1: "s", 60: "min", 3600: "h", 86_400: "d"}


def _wanted(demand: Demand) -> str:
    """Return which part of the calls that are possible the tiers want."""
    return f"{demand.calls_a_day * 100 // demand.possible_a_day:,} %" if demand.possible_a_day else "–"

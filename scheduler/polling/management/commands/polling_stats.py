"""`manage.py polling_stats`: how the polling of each account goes."""

import time
from argparse import ArgumentParser
from collections.abc import Sequence
from contextlib import suppress
from datetime import datetime
from typing import Any

from django.core.management.base import CommandError
from redis.exceptions import RedisError

from project.kit import commands
from project.kit.clock import database_now
from project.kit.commands import Told
from project.kit.spans import span
from project.kit.tables import table
from scheduler.polling import accounts, connecting, stats
from scheduler.polling.management.lookups import find_accounts
from scheduler.polling.stats import AccountStats

LOOK_EVERY_SECONDS = 2.0
pause = time.sleep

HEADINGS = (
    *("ACCOUNT", "STANDING", "CARDS", "DUE", "ASKED FOR", "IN WORK", "CALLS/S", "LIMIT", "WAIT", "NOT MADE"),
    *("FINISHED", "EXPIRED", "STALE", "ALERTS", "WANTED", "FULL CYCLE"),
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
    return table(HEADINGS, map(_row, seen), figures=[each for each in HEADINGS if each not in TEXTS])


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
        " + ".join(f"{window.limit:,}/{window.seconds:g} s" for window in limits) or "none",
        span(traffic.waited / traffic.waits) if traffic.waits else "–",
        f"{traffic.timeouts:,}",
        f"{counts.finished:,}",
        f"{counts.lease_expired:,}",
        f"{counts.stale_finish:,}",
        f"{each.open_alerts:,}",
        _wanted(each),
        span(asked.full_cycle) if asked.full_cycle is not None else "–",
    )


def _wanted(each: AccountStats) -> str:
    """Return which part of the calls that are possible the tiers ask for."""
    demand = each.asked.demand
    if not demand.possible_a_day:
        return "–" if demand.feasible else "too much"
    percent = f"{demand.calls_a_day * 100 // demand.possible_a_day:,} %"
    return percent if demand.feasible else f"{percent}: too much"

"""`manage.py polling_init`: build the live order of carrier accounts from their rows."""

from argparse import ArgumentParser
from datetime import datetime
from typing import Any

from redis import Redis
from redis.exceptions import RedisError

from project.kit import commands
from project.kit.bars import bars
from project.kit.commands import Status, Told, actor
from scheduler.polling import connecting
from scheduler.polling.fleet import initializing
from scheduler.polling.fleet.initializing import Outcome, Rebuilt
from scheduler.polling.fleet.rebuilds import Progress
from scheduler.polling.management.lookups import find_accounts
from scheduler.polling.models import CarrierAccount

NONE_YET = "There is no active account yet."


class Command(commands.Verb):
    """Rebuild accounts, or tell how far their latest rebuilds are."""

    help = (
        "Build the live order of carrier accounts from their rows, all of them unless some are named. Nothing is"
        " claimed of an account until all of its cards are in. It may be interrupted, and begun again, at any time."
    )
    refusals = (RedisError,)

    def add_arguments(self, parser: ArgumentParser) -> None:
        """Declare what can be said."""
        super().add_arguments(parser)
        parser.add_argument(
            "accounts", nargs="*", metavar="ACCOUNT", help="names of accounts; none: all that are active"
        )
        parser.add_argument("--lost", action="store_true", help="only those whose live order is lost")
        parser.add_argument("--progress", action="store_true", help="only tell how far the latest rebuilds are")

    def act(self, options: dict[str, Any], now: datetime) -> Told:
        """Rebuild them one after another."""
        accounts, redis = find_accounts(options["accounts"]), connecting.client()
        if options["progress"]:
            return _told_of_progress(redis, accounts)
        with bars(wanted=not options["json"]) as bar_of:
            rebuilt = [
                initializing.rebuild(
                    redis,
                    account.pk,
                    by=f"{actor()} (command)",
                    now=now,
                    only_if_lost=options["lost"],
                    tell=bar_of(account.name),
                )
                for account in accounts
            ]
        return _told({account.pk: account.name for account in accounts}, rebuilt)


def _told(names: dict[int, str], rebuilt: list[Rebuilt]) -> Told:
    sentences = [f"{names[one.account_id]}: {_in_words(one)}" for one in rebuilt] or [NONE_YET]
    values = [{"account": names[one.account_id], "outcome": one.outcome.value, "cards": one.cards} for one in rebuilt]
    unwell = any(one.outcome in {Outcome.UNDER_WAY, Outcome.OVERTAKEN} for one in rebuilt)
    return Told(sentences, {"accounts": values}, Status.NOT_WELL if unwell else Status.DONE)


def _in_words(one: Rebuilt) -> str:
    match one.outcome:
        case Outcome.REBUILT:
            return f"{one.cards:,} cards are in order."
        case Outcome.NOT_NEEDED:
            return "its order is there."
        case Outcome.SWITCHED_OFF:
            return "it is switched off, and has no order."
        case Outcome.NOT_IN_USE:
            return "the simple way decides now, or a cut-over is under way; nothing is claimed from its order."
        case Outcome.UNDER_WAY:
            return "another rebuild is under way; see --progress."
        case Outcome.OVERTAKEN:
            return "Redis lost the order meanwhile, or another rebuild began. Begin again if --progress shows none."


def _told_of_progress(redis: Redis, accounts: list[CarrierAccount]) -> Told:
    found = initializing.progress(redis, [account.pk for account in accounts])
    pairs = [(account.name, found.get(account.pk)) for account in accounts]
    sentences = [f"{name}: {_how_far(progress) if progress else 'not rebuilt lately.'}" for name, progress in pairs]
    values = [{"account": name, **_as_values(progress)} for name, progress in pairs if progress]
    return Told(sentences or [NONE_YET], {"accounts": values})


def _how_far(progress: Progress) -> str:
    begun = f"begun {progress.began_at:%Y-%m-%d %H:%M:%S} UTC by {progress.by}"
    return f"{_state(progress)}, {progress.done:,} of {progress.total:,} cards, {begun}."


def _as_values(progress: Progress) -> dict[str, Any]:
    names = ("done", "total", "by", "began_at", "ended_at")
    return {"state": _state(progress), **{name: getattr(progress, name) for name in names}}


def _state(progress: Progress) -> str:
    if progress.ended_at:
        return "done"
    return "under way" if progress.under_way else "interrupted"

"""`manage.py quota`: what quotas have, what was spent of them, and what a person does with them."""

from argparse import ArgumentParser
from collections.abc import Callable
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from project.kit import commands
from project.kit.commands import Status, Told, actor
from project.kit.sentences import counted
from quotas import charging, defining, forecasting, prospects
from quotas.admin import cells
from quotas.amounts import check_amount, check_limit
from quotas.management.lookups import WEEKDAYS, amount, clock_time, find_quota, limit
from quotas.management.tables import ledger_table, quota_table, waiting_table
from quotas.management.values import entry_values, place_values, quota_values
from quotas.models import LedgerEntry, Quota
from quotas.outlook import outlook
from quotas.periods import Preset
from quotas.refusals import QuotaError
from quotas.states import Kind, Verdict

WAITING_SHOWN = 20
NOT_SAID = object()


@dataclass(frozen=True, slots=True)
class QuotaVerb:
    """One verb behind `quota`: what it says of itself, what it takes, what it does."""

    help: str
    declare: Callable[[ArgumentParser], None]
    act: Callable[[dict[str, Any], datetime], Told]


class Command(commands.Verb):
    """Look at quotas, add one, top up, set a limit, refund a charge, simulate, verify the books."""

    help = "Look at quotas, and do with them what the control panel does."
    refusals = (QuotaError,)

    def add_arguments(self, parser: ArgumentParser) -> None:
        """Declare the verbs."""
        verbs = parser.add_subparsers(dest="verb", required=True, metavar="VERB")
        for name, verb in VERBS.items():
            own = verbs.add_parser(name, help=verb.help, description=verb.help)
            super().add_arguments(own)
            verb.declare(own)

    def act(self, options: dict[str, Any], now: datetime) -> Told:
        """Do what the verb does."""
        return VERBS[options["verb"]].act(options, now)


# --- to look at ------------------------------------------------------------------------------------------------


def _declare_list(parser: ArgumentParser) -> None:
    parser.add_argument("--insufficient", action="store_true", help="only those for which work waits, or would")


def _list(options: dict[str, Any], now: datetime) -> Told:
    quotas = Quota.objects.select_related("parent").order_by("key")
    if options["insufficient"]:
        quotas = quotas.filter(verdict=Verdict.INSUFFICIENT)
    rows = list(quotas)
    sentences = quota_table(rows, now) if rows else ["There is no such quota." if options["insufficient"] else NONE_YET]
    return Told(sentences, {"quotas": [quota_values(quota, now) for quota in rows]})


def _declare_key(parser: ArgumentParser) -> None:
    parser.add_argument("key", metavar="KEY", help="key of the quota")


def _show(options: dict[str, Any], now: datetime) -> Told:
    quota = find_quota(options["key"])
    queue = prospects.queue(quota, now=now)
    known = outlook(quota, now=now)
    sentences = quota_table([quota], now)
    if known is not None:
        sentences += ["", forecasting.sentence(known, now=now, timezone=quota.timezone)]
    if queue:
        sentences += ["", _waiting_title(queue), *waiting_table(quota, queue[:WAITING_SHOWN])]
    runs_out_at = known.runs_out_at if known else None
    waiting = [place_values(place, quota) for place in queue]
    return Told(sentences, {**quota_values(quota, now), "runs_out_at": runs_out_at, "waiting": waiting})


def _waiting_title(queue: list[prospects.Place]) -> str:
    first = f", the first {WAITING_SHOWN} of {len(queue):,}" if len(queue) > WAITING_SHOWN else ""
    return f"Waiting, in the order in which it goes on{first}:"


def _declare_ledger(parser: ArgumentParser) -> None:
    _declare_key(parser)
    parser.add_argument("--count", type=amount, default=50, metavar="N", help="how many of the latest entries (50)")


def _ledger(options: dict[str, Any], now: datetime) -> Told:
    quota = find_quota(options["key"])
    entries = LedgerEntry.objects.filter(quota=quota).select_related("charged").order_by("-id")
    latest = list(entries[: max(0, options["count"])])
    balance = (quota.limit or 0) - quota.used
    sentences = [*ledger_table(quota, latest), f"The balance of “{quota.key}” is {balance:,}."]
    return Told(sentences, {"key": quota.key, "balance": balance, "entries": [entry_values(one) for one in latest]})


def _declare_simulate(parser: ArgumentParser) -> None:
    _declare_key(parser)
    what = parser.add_mutually_exclusive_group(required=True)
    what.add_argument("--top-up", type=amount, metavar="N", help="if so much was added")
    # argparse takes what equals the default for not said, and `none` is a value here.
    what.add_argument(
        "--limit", type=limit, default=NOT_SAID, metavar="N", help="if the limit was this; none: unlimited"
    )


def _simulate(options: dict[str, Any], now: datetime) -> Told:
    quota = find_quota(options["key"])
    supposed = options["limit"] if options["top_up"] is None else _topped_up(quota, options["top_up"])
    check_limit(supposed)
    queue = prospects.queue_if(quota, supposed, now=now)
    going = [place for place in queue if place.goes_on]
    with_limit = "Without a limit" if supposed is None else f"With a limit of {cells.amount(supposed, quota.unit)}"
    said = f"{with_limit}, {len(going):,} of {len(queue):,} that wait would go on. Nothing was changed."
    sentences = [said, *(waiting_table(quota, queue[:WAITING_SHOWN]) if queue else ())]
    places = [place_values(place, quota) for place in queue]
    return Told(sentences, {"key": quota.key, "limit": supposed, "go_on": len(going), "waiting": places})


def _topped_up(quota: Quota, added: int) -> int:
    check_amount(added)
    if quota.kind != Kind.CAPACITY or quota.limit is None:
        raise QuotaError(f"Only a capacity with a limit can be topped up; say --limit for “{quota.key}” instead.")
    return quota.limit + added


def _declare_nothing(parser: ArgumentParser) -> None:
    pass


def _verify(options: dict[str, Any], now: datetime) -> Told:
    from quotas.checking import check_books

    faults = check_books()
    count = Quota.objects.count()
    if faults:
        return Told(faults, {"quotas": count, "faults": faults}, Status.NOT_WELL)
    said = f"The books of {counted(count, 'quota')} are right: each ledger's sum is its balance."
    return Told([said], {"quotas": count, "faults": []})


# --- to do -----------------------------------------------------------------------------------------------------


def _declare_add(parser: ArgumentParser) -> None:
    _declare_key(parser)
    parser.add_argument(
        "--limit", type=limit, required=True, metavar="N", help="whole units; none: unlimited, 0: blocks"
    )
    parser.add_argument("--title", default="")
    parser.add_argument("--unit", default="", help="for example calls, tokens")
    parser.add_argument("--part-of", metavar="KEY", help="the quota in which a charge has to fit as well")
    parser.add_argument("--shadow", action="store_true", help="count and report, never block")
    periodic = parser.add_argument_group("a quota that resets by the clock")
    periodic.add_argument("--resets", choices=[preset for preset in Preset.values if preset != Preset.CRON])
    periodic.add_argument("--cron", metavar="EXPR", help="a cron expression instead")
    periodic.add_argument("--at", type=clock_time, metavar="HH:MM", help="wall-clock time (00:00)")
    periodic.add_argument("--weekday", choices=WEEKDAYS, default=WEEKDAYS[0], help="of a weekly reset (monday)")
    periodic.add_argument("--day", type=int, default=1, metavar="N", help="of a monthly reset (1); 31 is the last")
    periodic.add_argument("--tz", default="UTC", metavar="ZONE", help="IANA time zone (UTC)")
    rate = parser.add_argument_group("a quota that refills evenly")
    rate.add_argument("--refill", type=amount, metavar="N", help="so many units …")
    rate.add_argument("--seconds", type=amount, metavar="N", help="… in so many seconds")


def _add(options: dict[str, Any], now: datetime) -> Told:
    parent = find_quota(options["part_of"]) if options["part_of"] else None
    fields = {name: options[name] for name in ("title", "unit", "shadow")}
    quota = defining.create(
        key=options["key"], limit=options["limit"], parent=parent, now=now, actor=actor(), **fields, **_rule(options)
    )
    rule = cells.rule(quota)
    sentence = f"The quota “{quota.key}” is there: {cells.amount(quota.limit, quota.unit)}{rule and f', {rule}'}."
    return Told([sentence], quota_values(quota, now))


def _rule(options: dict[str, Any]) -> dict[str, Any]:
    """Return the kind and its rule; what says neither when it resets nor how it refills is topped up."""
    if options["refill"] is not None or options["seconds"] is not None:
        return {"kind": Kind.RATE, "refill_amount": options["refill"], "refill_seconds": options["seconds"]}
    if not (options["resets"] or options["cron"]):
        return {"kind": Kind.CAPACITY}
    return {
        "kind": Kind.PERIODIC,
        "reset_preset": Preset.CRON if options["cron"] else options["resets"],
        "reset_cron": options["cron"] or "",
        "reset_time": options["at"],
        "reset_weekday": WEEKDAYS.index(options["weekday"]),
        "reset_day": options["day"],
        "timezone": options["tz"],
    }


def _declare_giving(parser: ArgumentParser) -> None:
    parser.add_argument("--reason", default="", help="why, for the ledger")
    parser.add_argument("--once", metavar="TEXT", help="names this; the same again does nothing more")


def _declare_top_up(parser: ArgumentParser) -> None:
    _declare_key(parser)
    parser.add_argument("amount", type=amount, metavar="N", help="whole units")
    _declare_giving(parser)


def _top_up(options: dict[str, Any], now: datetime) -> Told:
    quota = find_quota(options["key"])
    charging.top_up(quota.key, options["amount"], now=now, idempotency_key=options["once"], **_said(options))
    return _told_of(quota, now)


def _declare_set_limit(parser: ArgumentParser) -> None:
    _declare_key(parser)
    parser.add_argument("limit", type=limit, metavar="N", help="whole units; none: unlimited, 0: blocks")
    _declare_giving(parser)


def _set_limit(options: dict[str, Any], now: datetime) -> Told:
    quota = find_quota(options["key"])
    charging.set_limit(quota.key, options["limit"], now=now, idempotency_key=options["once"], **_said(options))
    return _told_of(quota, now)


def _declare_reset(parser: ArgumentParser) -> None:
    _declare_key(parser)
    _declare_giving(parser)


def _reset(options: dict[str, Any], now: datetime) -> Told:
    quota = find_quota(options["key"])
    given = charging.reset(quota.key, now=now, idempotency_key=options["once"], **_said(options))
    told = _told_of(quota, now)
    return Told([f"Reset: {given:,} came back. {told.sentences[0]}"], {**told.values, "given": given})


def _declare_refund(parser: ArgumentParser) -> None:
    _declare_key(parser)
    parser.add_argument("charge_key", metavar="CHARGE_KEY", help="key of the charge, as its ledger has it")
    parser.add_argument("--amount", type=amount, metavar="N", help="less than all of it")
    parser.add_argument("--reason", default="", help="why, for the ledger")


def _refund(options: dict[str, Any], now: datetime) -> Told:
    quota = find_quota(options["key"])
    given = charging.refund(quota.key, options["charge_key"], now=now, amount=options["amount"], **_said(options))
    told = _told_of(quota, now)
    return Told([f"Refunded: {given:,} came back. {told.sentences[0]}"], {**told.values, "given": given})


def _said(options: dict[str, Any]) -> dict[str, str]:
    return {"actor": actor(), "reason": options["reason"]}


def _told_of(quota: Quota, now: datetime) -> Told:
    quota.refresh_from_db()
    values = quota_values(quota, now)
    verdict = quota.get_verdict_display()
    if quota.limit is None:
        return Told([f"“{quota.key}” is unlimited; it is {verdict}."], values)
    limit_now, left = cells.amount(quota.limit, quota.unit), cells.amount(values["available"])
    return Told([f"The limit of “{quota.key}” is {limit_now}, {left} available; it is {verdict}."], values)


NONE_YET = "There is no quota yet. Add one: manage.py quota add KEY --limit N --resets day"

VERBS: dict[str, QuotaVerb] = {
    "list": QuotaVerb("List the quotas.", _declare_list, _list),
    "show": QuotaVerb("Show where a quota stands, and who waits for it.", _declare_key, _show),
    "add": QuotaVerb("Add a quota: topped up, or reset by the clock, or refilled.", _declare_add, _add),
    "top-up": QuotaVerb("Add to the limit of a capacity.", _declare_top_up, _top_up),
    "set-limit": QuotaVerb("Set the limit of a quota.", _declare_set_limit, _set_limit),
    "reset": QuotaVerb("Reset a quota before its time; its next reset stays.", _declare_reset, _reset),
    "refund": QuotaVerb("Give a charge back, once.", _declare_refund, _refund),
    "ledger": QuotaVerb("List the latest entries of a quota's ledger.", _declare_ledger, _ledger),
    "simulate": QuotaVerb("Say who would go on with another limit; change nothing.", _declare_simulate, _simulate),
    "verify": QuotaVerb("Count all books again from their rows.", _declare_nothing, _verify),
}

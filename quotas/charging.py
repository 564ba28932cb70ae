"""Spending: charge, refund, top up, set the limit. Each is one transaction of guarded rows and their ledger entries.

An idempotency key that was seen returns the first result; a refused charge changes nothing.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime

from django.db import transaction
from django.utils.translation import gettext as _

from quotas import reserving
from quotas.amounts import check_amount, check_limit
from quotas.books import Books, open_books, open_books_of_all
from quotas.models import LedgerEntry, Quota
from quotas.purchases import Purchase, purchase
from quotas.quick_charges import charge_quietly
from quotas.refusals import BadAmount, Conflict, QuotaError
from quotas.retrying import retried
from quotas.states import Cause, EntryKind, Kind

UNLIMITED = -1  # in the ledger, as the units of a limit


@dataclass(frozen=True, slots=True)
class Charged:
    """A charge that was granted.

    Attributes:
        amount: what was charged, in the quota's units.
        repeated: the key had been seen before; nothing was charged now.
        over_limit: it did not fit, and was granted because the quota is in shadow mode.
    """

    key: str
    amount: int
    idempotency_key: str
    repeated: bool = False
    over_limit: bool = False


@retried
def charge(
    key: str,
    amount: int = 1,
    *,
    now: datetime,
    idempotency_key: str | None = None,
    owner: str = "",
    attempt: int | None = None,
    refund_on_failure: bool = False,
    reason: str = "",
) -> Charged:
    """Charge the amount to the quota and to all that it is part of, or to none.

    Args:
        key: the quota's.
        amount: whole units, at least 1.
        idempotency_key: names this charge of the quota; the same again charges nothing and returns the first result.
        owner: who spends, as a text key. What was reserved for it by an admission is used first.
        attempt: the number of the owner's execution, to which the charge belongs.
        refund_on_failure: give it back if that attempt ends before the work was used; see `refund_unused`.

    Raises:
        Refused: it does not fit now.
        NeverSatisfiable: it is above a limit, and would never fit.
        UnknownQuota, BadAmount, BadKey: it cannot be understood.
        Conflict: the idempotency key was used with another amount.
    """
    check_amount(amount)
    origin = purchase(idempotency_key, owner=owner, attempt=attempt, reason=reason, refund_on_failure=refund_on_failure)
    if charge_quietly(key, amount, origin, now):
        return Charged(key, amount, origin.key)
    with transaction.atomic():
        books, quota = open_books(key, now)
        if first := _seen(quota, EntryKind.CHARGE, origin.key, amount):
            return Charged(key, amount, origin.key, repeated=True, over_limit=first.over_limit)
        spare = reserving.use_admission(books, quota, owner)
        books.refuse_what_does_not_fit(quota, amount)
        over_limit = books.spend(quota, amount, origin)
        books.save(Cause.RESERVATION_FREED if spare > amount else Cause.SPENDING)
    return Charged(key, amount, origin.key, over_limit=over_limit)


@retried
def refund(
    key: str, charge_key: str, *, now: datetime, amount: int | None = None, actor: str = "", reason: str = ""
) -> int:
    """Give a charge back, the whole of it or a part, once; return how much came back to the quota's balance.

    What an earlier period was charged, or a rate has refilled since, is recorded and gives nothing now.

    Args:
        charge_key: the idempotency key of the charge.
        amount: whole units; None: all of it.

    Raises:
        QuotaError: there is no such charge, or less of it. Conflict: it was refunded with another amount.
    """
    with transaction.atomic():
        books, quota = open_books(key, now)
        charged = _entry(quota, EntryKind.CHARGE, charge_key)
        if charged is None:
            raise QuotaError(
                _("The quota “%(key)s” has no charge with the key “%(charge_key)s”; look it up in its ledger.")
                % {"key": key, "charge_key": charge_key}
            )
        amount = charged.units if amount is None else amount
        check_amount(amount)
        if amount > charged.units:
            raise BadAmount(
                _("Of the charge “%(charge_key)s” at most %(units)s can be refunded.")
                % {"charge_key": charge_key, "units": f"{charged.units:,}"}
            )
        if seen := _seen(quota, EntryKind.REFUND, charge_key, amount):
            return seen.amount
        origin = Purchase(charge_key, charged.owner, charged.attempt, actor, reason)
        given = books.give_back(quota, charged, amount, origin)
        books.save(Cause.REFUND)
        return given


@retried
def refund_unused(owners: Sequence[tuple[str, int, datetime | None]], *, now: datetime) -> int:
    """Give back what ended attempts were charged for and did not use; return how many charges that were.

    That is what was charged with `refund_on_failure` since the attempt's last checkpoint: a checkpoint says that the
    work before it is done.

    Args:
        owners: the owner, the number of its attempt and the instant of its last checkpoint, if there was one.
    """
    since = {(owner, attempt): checkpoint for owner, attempt, checkpoint in owners}
    with transaction.atomic():
        unused = [entry for entry in _refundable(list({owner for owner, _ in since})) if _is_unused(entry, since)]
        if not unused:
            return 0
        books = open_books_of_all({pk for entry in unused for pk in entry.charged.chain}, now)
        refunded = _refunded_already(unused)
        unused = [entry for entry in unused if (entry.charged_id, entry.idempotency_key) not in refunded]
        for entry in unused:
            reason = "The work ended before it used it."
            origin = Purchase(entry.idempotency_key, entry.owner, entry.attempt, reason=reason)
            books.give_back(books.quotas[entry.charged_id], entry, entry.units, origin)
        books.save(Cause.REFUND)
    return len(unused)


@retried
def top_up(
    key: str, amount: int, *, now: datetime, idempotency_key: str | None = None, actor: str = "", reason: str = ""
) -> int:
    """Add the amount to the total of a capacity, at once; return the total.

    Raises:
        QuotaError: it is no capacity, or unlimited. UnknownQuota, BadAmount, BadKey, Conflict: as `charge`.
    """
    check_amount(amount)
    origin = purchase(idempotency_key, actor=actor, reason=reason)
    with transaction.atomic():
        books, quota = open_books(key, now)
        if quota.kind != Kind.CAPACITY or quota.limit is None:
            raise QuotaError(
                _("Only a capacity with a limit can be topped up; set the limit of “%(key)s” instead.") % {"key": key}
            )
        if not _seen(quota, EntryKind.TOP_UP, origin.key, amount):
            check_limit(quota.limit + amount)
            quota.limit += amount
            books.enter(quota, quota, EntryKind.TOP_UP, amount, amount, origin)
            books.save(Cause.TOP_UP)
        return quota.limit


@retried
def reset(key: str, *, now: datetime, idempotency_key: str | None = None, actor: str = "", reason: str = "") -> int:
    """Let a periodic quota begin anew before its time, at once; return what came back. Its next reset stays.

    Raises:
        QuotaError: it does not reset by the clock. UnknownQuota, BadKey: as `charge`.
    """
    origin = purchase(idempotency_key, actor=actor, reason=reason)
    with transaction.atomic():
        books, quota = open_books(key, now)
        if quota.kind != Kind.PERIODIC:
            raise QuotaError(
                _("Only a quota that resets by the clock can be reset; set the limit of “%(key)s” instead.")
                % {"key": key}
            )
        if seen := _entry(quota, EntryKind.RESET, origin.key):
            return seen.amount
        given = books.begin_anew(quota, origin)
        books.save(Cause.RESET)
    return given


@retried
def set_limit(
    key: str,
    limit: int | None,
    *,
    now: datetime,
    idempotency_key: str | None = None,
    actor: str = "",
    reason: str = "",
) -> None:
    """Set the limit, at once. Below what is used it keeps the debt and stops nothing that runs.

    Args:
        limit: whole units; None: unlimited, 0: blocks.

    Raises:
        QuotaError: a rate has to have one. UnknownQuota, BadAmount, BadKey, Conflict: as `charge`.
    """
    check_limit(limit)
    origin = purchase(idempotency_key, actor=actor, reason=reason)
    with transaction.atomic():
        books, quota = open_books(key, now)
        if limit is None and quota.kind == Kind.RATE:
            raise QuotaError(
                _("The rate “%(key)s” needs a limit: how many units may be spent at once after a pause.") % {"key": key}
            )
        if _seen(quota, EntryKind.LIMIT, origin.key, _units(limit)):
            return
        change_limit(books, quota, limit, origin)
        books.save(Cause.LIMIT_CHANGE)


def change_limit(books: Books, quota: Quota, limit: int | None, origin: Purchase) -> None:
    """Set the limit of the locked quota, with its ledger entry."""
    books.enter(quota, quota, EntryKind.LIMIT, _units(limit), (limit or 0) - (quota.limit or 0), origin)
    quota.limit = limit


# --- steps -----------------------------------------------------------------------------------------------------


def _entry(quota: Quota, kind: EntryKind, key: str) -> LedgerEntry | None:
    """Return the locked quota's own entry of that kind and key; whoever wrote it held the lock."""
    return LedgerEntry.objects.filter(charged=quota, quota=quota, kind=kind, idempotency_key=key).first()


def _seen(quota: Quota, kind: EntryKind, key: str, units: int) -> LedgerEntry | None:
    entry = _entry(quota, kind, key)
    if entry is not None and entry.units != units:
        raise Conflict(
            _(
                "The key “%(key)s” was used on the quota “%(quota)s” for %(before)s, and now for %(now)s: "
                "another piece of work needs another key."
            )
            % {"key": key, "quota": quota.key, "before": _said(entry.units), "now": _said(units)}
        )
    return entry


def _units(limit: int | None) -> int:
    """Return a limit as the ledger's column holds it."""
    return UNLIMITED if limit is None else limit


def _said(units: int) -> str:
    return "unlimited" if units == UNLIMITED else f"{units:,}"


def _refundable(owners: Sequence[str]) -> list[LedgerEntry]:
    entries = LedgerEntry.objects.filter(owner__in=owners, refund_on_failure=True, kind=EntryKind.CHARGE)
    return [entry for entry in entries.select_related("charged") if entry.quota_id == entry.charged_id]


def _is_unused(entry: LedgerEntry, since: Mapping[tuple[str, int], datetime | None]) -> bool:
    if entry.attempt is None or (entry.owner, entry.attempt) not in since:
        return False
    checkpoint = since[entry.owner, entry.attempt]
    return checkpoint is None or entry.at > checkpoint


def _refunded_already(charges: Sequence[LedgerEntry]) -> set[tuple[int, str]]:
    refunds = LedgerEntry.objects.filter(
        kind=EntryKind.REFUND,
        charged__in={entry.charged_id for entry in charges},
        idempotency_key__in=[entry.idempotency_key for entry in charges],
    )
    return set(refunds.values_list("charged_id", "idempotency_key"))

"""Locked quotas and what is written of them in one transaction. What is charged to a quota has to fit in it and in all
that it is part of: all or none.
"""

from collections.abc import Iterable, Mapping
from datetime import datetime

from django.db import transaction

from quotas import availability, evaluating
from quotas.models import LedgerEntry, Quota
from quotas.periods import period_at
from quotas.purchases import Purchase, purchase
from quotas.refusals import NeverSatisfiable, Refused, UnknownQuota
from quotas.states import Cause, EntryKind, Kind


class Books:
    """Quotas that are locked, brought up to date for `now`, and written back once: what was spent, its ledger entries
    and the verdict.

    Attributes:
        quotas: by id, everything that was locked.
    """

    def __init__(self, quotas: Mapping[int, Quota], now: datetime) -> None:
        self.quotas, self.now = quotas, now
        self._before = {quota.pk: {name: getattr(quota, name) for name in STATE} for quota in quotas.values()}
        self._entries: list[LedgerEntry] = []
        self._by_clock: dict[int, Cause] = {}  # what time alone has changed
        self._touched: set[int] = set()  # what was spent, given or held by whoever opened the books
        for quota in quotas.values():
            self._bring_up_to_date(quota)

    def links(self, leaf: Quota) -> list[Quota]:
        """Return the quota and its ancestors, upwards."""
        return [self.quotas[pk] for pk in reversed(leaf.chain)]

    def refuse_what_does_not_fit(self, leaf: Quota, amount: int) -> None:
        """Raise what says why the amount cannot be had now; nothing if it can.

        A limit of 0 is a switch that blocks for a while: whoever meets it is refused and waits.

        Raises:
            Refused: it does not fit now.
            NeverSatisfiable: it is above a limit, and would never fit.
        """
        for link in self.links(leaf):
            if link.limit and amount > link.limit and not link.shadow:
                raise NeverSatisfiable(leaf.key, blocker=link.key, amount=amount, limit=link.limit)
        for link in self.links(leaf):
            if not availability.fits(link, amount, self.now):
                raise self._refusal(leaf, link, amount)

    def spend(self, leaf: Quota, amount: int, purchase: Purchase) -> bool:
        """Charge the amount to every link, whatever is left; tell whether that went over a limit."""
        over_limit = False
        for link in self.links(leaf):
            left = availability.available(link, self.now)
            over = left is not None and left < amount
            link.used += amount
            link.spent_total += amount
            link.over_limit_count += over
            self.enter(link, leaf, EntryKind.CHARGE, amount, -amount, purchase, over_limit=over)
            over_limit = over_limit or over
        return over_limit

    def give_back(self, leaf: Quota, charged: LedgerEntry, amount: int, purchase: Purchase) -> int:
        """Refund the amount of a charge in every link; return what that gave the leaf's balance.

        What an earlier period was charged, or a rate has refilled since, is recorded and gives nothing.
        """
        given = {}
        for link in self.links(leaf):
            given[link.pk] = 0 if _is_of_an_earlier_period(link, charged) else min(amount, link.used)
            link.used -= given[link.pk]
            link.spent_total -= amount
            if link.provider_observed_at is not None and charged.at <= link.provider_observed_at:
                # What the provider said was left does not grow by what was spent before it said so.
                link.provider_spent_at_observation -= amount
            self.enter(link, leaf, EntryKind.REFUND, amount, given[link.pk], purchase)
        return given[leaf.pk]

    def begin_anew(self, quota: Quota, purchase: Purchase) -> int:
        """Begin the running period of a quota once more, with nothing used; return what that gave its balance.

        What was charged until this instant is of an earlier period from then on: refunding it gives nothing more.
        """
        given = quota.used
        self.enter(quota, quota, EntryKind.RESET, given, given, purchase)
        quota.used, quota.period_start, quota.warned_percent = 0, self.now + availability.MICROSECOND, 0
        return given

    def hold(self, leaf: Quota, amount: int) -> None:
        """Count the amount, or with a minus no longer, as reserved in every link."""
        for link in self.links(leaf):
            link.reserved += amount
            self.note_change(link)

    def note_change(self, quota: Quota) -> None:
        """Note that it is this quota, by its rule or its figures, that the cause given to `save` is about."""
        self._touched.add(quota.pk)

    def enter(
        self,
        quota: Quota,
        charged: Quota,
        kind: EntryKind,
        units: int,
        amount: int,
        purchase: Purchase,
        *,
        over_limit: bool = False,
    ) -> None:
        """Add a ledger entry of the quota.

        Args:
            charged: the quota that was asked, `quota` or a descendant of it.
            units: what was asked for.
            amount: how that changes the balance.
        """
        self.note_change(quota)
        self._write(quota, charged, kind, units, amount, purchase, over_limit=over_limit)

    def save(self, cause: Cause | None = None) -> None:
        """Judge each quota anew, and write what changed with the ledger entries.

        Args:
            cause: what was done to those that changed (see `note_change`), or to all if none is noted; a reset that was
                due goes before it. None: nothing was done, only time has passed.
        """
        for quota in self.quotas.values():
            evaluating.judge(quota, self._cause_for(quota, cause), self.now)
        changed = [name for name in STATE if any(self._differs(quota, name) for quota in self.quotas.values())]
        if changed:
            Quota.objects.bulk_update(self.quotas.values(), changed)
        LedgerEntry.objects.bulk_create(self._entries)

    def _cause_for(self, quota: Quota, cause: Cause | None) -> Cause:
        by_clock = self._by_clock.get(quota.pk)
        is_meant = quota.pk in self._touched or not self._touched
        if cause is None or not is_meant:
            return by_clock or Cause.POLL
        # Spending lets no quota rise: if it does, then by what time has brought.
        return by_clock if by_clock and (cause == Cause.SPENDING or by_clock == Cause.RESET) else cause

    def _differs(self, quota: Quota, name: str) -> bool:
        return bool(getattr(quota, name) != self._before[quota.pk][name])

    def _refusal(self, leaf: Quota, blocker: Quota, amount: int) -> Refused:
        return Refused(
            leaf.key,
            quota_id=leaf.pk,
            blocker=blocker.key,
            amount=amount,
            available=availability.available(blocker, self.now) or 0,
            why=availability.why(blocker, amount, self.now),
            expected_at=availability.expected_at(blocker, amount, self.now),
        )

    # --- what the clock gives back --------------------------------------------------------------------------------

    def _bring_up_to_date(self, quota: Quota) -> None:
        if evaluating.forget_what_passed(quota, self.now):
            self._by_clock[quota.pk] = Cause.PROVIDER
        if quota.kind == Kind.PERIODIC and quota.period_end is not None and self.now >= quota.period_end:
            self._begin_period(quota)
        elif quota.kind == Kind.RATE:
            self._refill(quota)

    def _begin_period(self, quota: Quota) -> None:
        """Begin the period that holds `now`; however many were missed, it is one reset."""
        period = period_at(quota.reset_rule(), self.now)
        if quota.used:
            self._enter_by_clock(quota, EntryKind.RESET, quota.used)
        quota.used, quota.period_start, quota.period_end = 0, period.start, period.end
        quota.warned_percent = 0
        self._by_clock[quota.pk] = Cause.RESET

    def _refill(self, quota: Quota) -> None:
        refill = availability.refilled(quota, self.now)
        units = min(refill.units, quota.used)
        if units:
            self._enter_by_clock(quota, EntryKind.REFILL, units)
            quota.used -= units
        if quota.used:
            quota.refilled_at = refill.until
        elif quota.refilled_at is None or quota.refilled_at < self.now:
            # A full bucket gathers nothing: its next token is a whole interval away from the charge that takes one.
            quota.refilled_at = self.now
        self._by_clock[quota.pk] = Cause.REFILL

    def _enter_by_clock(self, quota: Quota, kind: EntryKind, units: int) -> None:
        self._write(quota, quota, kind, units, units, purchase(None))

    def _write(
        self,
        quota: Quota,
        charged: Quota,
        kind: EntryKind,
        units: int,
        amount: int,
        origin: Purchase,
        *,
        over_limit: bool = False,
    ) -> None:
        began = quota.period_start
        self._entries.append(
            LedgerEntry(
                quota_id=quota.pk,
                charged_id=charged.pk,
                kind=kind,
                idempotency_key=origin.key,
                units=units,
                amount=amount,
                owner=origin.owner,
                attempt=origin.attempt,
                refund_on_failure=origin.refund_on_failure,
                over_limit=over_limit,
                # Who asked right before the reset and got the lock right after it counts in the new period.
                at=self.now if began is None else max(self.now, began),
                actor=origin.actor,
                reason=origin.reason,
            )
        )


def open_books(key: str, now: datetime) -> tuple[Books, Quota]:
    """Lock the quota of that key and its ancestors; return them and the quota.

    Raises:
        UnknownQuota: there is none.
    """
    leaf = Quota.objects.filter(key=key).only("id", "ancestors").first()
    if leaf is None:
        raise UnknownQuota(key)
    return _open_at(leaf, now)


def open_books_of(quota_id: int, now: datetime) -> tuple[Books, Quota]:
    """Lock the quota of that id and its ancestors; return them and the quota."""
    return _open_at(Quota.objects.only("id", "ancestors").get(pk=quota_id), now)


def open_books_of_all(quota_ids: Iterable[int], now: datetime, *, skip_locked: bool = False) -> Books:
    """Lock exactly these quotas, in the order of their ids, so that two callers cannot wait for each other.

    Args:
        skip_locked: leave out those that somebody else has locked, instead of waiting for him.
    """
    if not transaction.get_connection().in_atomic_block:
        raise transaction.TransactionManagementError("Quotas are locked within a transaction.")
    locked = Quota.objects.select_for_update(skip_locked=skip_locked).filter(pk__in=set(quota_ids)).order_by("pk")
    return Books({quota.pk: quota for quota in locked}, now)


def _open_at(leaf: Quota, now: datetime) -> tuple[Books, Quota]:
    books = open_books_of_all(leaf.chain, now)
    locked = books.quotas[leaf.pk]
    if locked.chain == leaf.chain:
        return books, locked
    # It was made part of another quota meanwhile, which happens to quotas that nobody has charged yet.
    books = open_books_of_all(locked.chain, now)
    return books, books.quotas[leaf.pk]


def _is_of_an_earlier_period(quota: Quota, charged: LedgerEntry) -> bool:
    return quota.kind == Kind.PERIODIC and quota.period_start is not None and charged.at < quota.period_start


# What changes by spending and judging; everything else of the row is its rule.
STATE = (
    "limit",
    "used",
    "reserved",
    "spent_total",
    "over_limit_count",
    "period_start",
    "period_end",
    "refilled_at",
    "quiet_below",
    "warned_percent",
    "verdict",
    "verdict_at",
    "above_since",
    "above_cause",
    "calm_until",
    "waited_for",
    "waited_since",
    "waited_met",
    "evaluate_at",
    "next_check_at",
    "provider_limit",
    "provider_remaining",
    "provider_resets_at",
    "provider_observed_at",
    "provider_spent_at_observation",
    "blocked_until",
    "blocked_without_reset",
    "blocked_count",
    "provider_unverified",
    "trial_owner",
    "trial_until",
)

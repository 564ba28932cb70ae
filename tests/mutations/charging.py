"""Mutations of quotas.charging, of its quick way, and of the books under it: what fits, once, and what comes back."""

from functools import partial

from tests.mutations import Mutation, Subject

_charge = partial(Mutation, "quotas/charging.py")
_quick = partial(Mutation, "quotas/quick_charges.py")
_book = partial(Mutation, "quotas/books.py")

SUBJECT = Subject(
    tests=(
        "tests/quotas/test_charging.py",
        "tests/quotas/test_quick_charges.py",
        "tests/quotas/test_refunding.py",
        "tests/quotas/test_evaluating.py",
        "tests/quotas/test_rates.py",
        "tests/quotas/test_shadow_mode.py",
        "tests/quotas/test_warnings.py",
        "tests/quotas/test_worked_examples.py",
        "tests/quotas/test_observing.py",
        "tests/races/test_quotas.py",
        "tests/races/test_quota_locks.py",
    ),
    mutations=(
        # the quick way
        _quick("verdict = 'sufficient' AND ", ""),
        _quick(" AND kind <> 'rate'", ""),
        _quick(" AND blocked_until IS NULL", ""),
        _quick(" AND provider_remaining IS NULL", ""),
        _quick("%(now)s < period_end", "%(now)s <= period_end"),
        _quick("used + reserved + %(amount)s < quiet_below", "used + reserved + %(amount)s <= quiet_below"),
        _quick("used + reserved + %(amount)s", "used + %(amount)s"),
        _quick("WHERE reservation.owner = %(owner)s AND ", "WHERE (reservation.owner = %(owner)s OR true) AND "),
        _quick(" AND reservation.state = 'held'", ""),
        _quick(" AND reservation.purpose = 'admission'", ""),
        _quick(" AND ancestors = '{{}}'", ""),
        _quick("ORDER BY quota.id FOR UPDATE OF quota", "FOR UPDATE OF quota"),
        _quick("ORDER BY quota.id FOR UPDATE OF quota", "ORDER BY quota.id"),
        _quick("(link.id <> leaf.id OR link.ancestors || link.id = leaf.chain) AND ", ""),
        _quick("transaction.atomic() if connection.in_atomic_block else nullcontext()", "nullcontext()"),
        # charged
        _charge("if first := _seen(quota, EntryKind.CHARGE, origin.key, amount):", "if first := None:"),
        _charge("        books.refuse_what_does_not_fit(quota, amount)\n", ""),
        _book("link.limit and amount > link.limit and", "link.limit and amount >= link.limit and"),
        _book("in self.links(leaf):\n            if not availability", "in [leaf]:\n            if not availability"),
        # locked
        _book("Quota.objects.select_for_update(skip_locked=skip_locked).filter", "Quota.objects.filter"),
        _book('.order_by("pk")\n    return Books', "\n    return Books", "by the present plan they come in that order"),
        _book("if locked.chain == leaf.chain:", "if True:"),
        # given back
        _charge("if seen := _seen(quota, EntryKind.REFUND, charge_key, amount):", "if seen := None:"),
        _charge("entry.at > checkpoint", "entry.at >= checkpoint"),
        _charge(", refund_on_failure=True, kind=EntryKind.CHARGE", ", kind=EntryKind.CHARGE"),
        _charge(" if entry.quota_id == entry.charged_id]", "]"),
        _charge("        kind=EntryKind.REFUND,\n        charged__in", "        charged__in"),
        _book("min(amount, link.used)", "amount"),
        _book("0 if _is_of_an_earlier_period(link, charged) else min", "min"),
        # by the clock and by people
        _book("self.now >= quota.period_end", "self.now > quota.period_end"),
        _book("min(refill.units, quota.used)", "refill.units"),
        _book("max(self.now, began)", "self.now"),
        _book("(cause == Cause.SPENDING or by_clock == Cause.RESET)", "cause == Cause.SPENDING"),
        _book("(cause == Cause.SPENDING or by_clock == Cause.RESET)", "by_clock == Cause.RESET"),
    ),
)

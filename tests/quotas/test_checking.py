"""The check of the books finds each planted fault, names the quota, and asks a fixed number of questions."""

from collections.abc import Callable
from typing import Any

import pytest
from django.db import connection

from quotas import charging, reserving
from quotas.checking import CHECKS, MOST_TOLD, check_books
from quotas.models import LedgerEntry, Quota, Reservation
from quotas.states import EntryKind
from tests.quotas.factories import DAY, NOW, change_row, make_daily, make_family, make_quota, make_rate, spend

pytestmark = pytest.mark.django_db


def some_books() -> Quota:
    """Make quotas with all kinds of entries; return one that is part of another."""
    _, leaf, _ = make_family(root=1000, leaves=500)
    spend(leaf, 100, idempotency_key="step 1")
    charging.refund(leaf.key, "step 1", amount=30, now=NOW)
    reserving.reserve(leaf.key, 50, now=NOW)
    settled = reserving.reserve(leaf.key, 50, now=NOW)
    reserving.settle(settled.pk, 20, now=NOW)
    rate, daily = make_rate(10), make_daily(10)
    for quota in (rate, daily):
        spend(quota, 10)
        spend(quota, 1, now=NOW + DAY)
    charging.set_limit(daily.key, None, now=NOW + DAY)
    return leaf


def past_the_trigger(statement: str) -> None:
    """Change the ledger as only the owner of the database could."""
    with connection.cursor() as cursor:
        cursor.execute("SET CONSTRAINTS ALL IMMEDIATE")  # or it has pending trigger events
        cursor.execute("ALTER TABLE quotas_ledgerentry DISABLE TRIGGER ledger_entry_never_changes")
        cursor.execute(statement)
        cursor.execute("ALTER TABLE quotas_ledgerentry ENABLE TRIGGER ledger_entry_never_changes")


def an_entry(quota: Quota, **fields: Any) -> None:
    values = {"kind": EntryKind.CHARGE, "idempotency_key": "planted", "units": 5, "amount": -5, "at": NOW}
    LedgerEntry.objects.bulk_create([LedgerEntry(**{"quota": quota, "charged": quota} | values | fields)])


def test_books_that_are_right_have_no_fault() -> None:
    some_books()
    assert check_books() == []


FAULTS: dict[str, tuple[Callable[[Quota], object], str]] = {
    "used": (lambda quota: change_row(quota, used=99), "has a balance of 401, but its ledger comes to 410"),
    "limit": (lambda quota: change_row(quota, limit=600), "has a balance of 510"),
    "entry": (an_entry, "is not entered once in each quota"),
    "an entry that is gone": (
        lambda quota: past_the_trigger(
            "DELETE FROM quotas_ledgerentry WHERE kind = 'charge' AND quota_id = charged_id"
        ),
        "is not entered once in each quota",
    ),
    "an entry that says something else": (
        lambda quota: past_the_trigger("UPDATE quotas_ledgerentry SET units = 3 WHERE quota_id = charged_id"),
        "is not entered once in each quota",
    ),
    "spent_total": (
        lambda quota: change_row(quota, spent_total=1),
        "1 is said to be spent in all, but its ledger says 90",
    ),
    "reserved": (lambda quota: change_row(quota, reserved=49), "49 is reserved, but its reservations hold 50"),
    "a reservation": (
        lambda quota: Reservation.objects.filter(state="held").update(amount=40),
        "50 is reserved, but its reservations hold 40",
    ),
    "a settlement": (
        lambda quota: Reservation.objects.filter(state="settled").update(settled_amount=21),
        "was settled by 21, but its charge says 20",
    ),
    "a refund of nothing": (
        lambda quota: an_entry(quota, kind=EntryKind.REFUND, amount=5),
        "gives back what was not charged",
    ),
    "a refund of more": (
        lambda quota: past_the_trigger("UPDATE quotas_ledgerentry SET units = 101 WHERE kind = 'refund'"),
        "gives back what was not charged",
    ),
    "an entry of no quota": (
        lambda quota: an_entry(quota, charged=Quota(pk=0)),
        "has entries of the quota #0, which is not there",
    ),
    "ancestors": (lambda quota: change_row(quota, ancestors=[]), "does not know what it is part of"),
    "parent": (lambda quota: change_row(quota, parent=None), "does not know what it is part of"),
    "verdict": (lambda quota: change_row(quota, limit=90, quiet_below=90), "is used up and called sufficient"),
    "quiet": (lambda quota: change_row(quota, quiet_below=501), "let through unjudged up to 501"),
    "quiet without end": (lambda quota: change_row(quota, quiet_below=None), "let through unjudged up to any amount"),
}


@pytest.mark.parametrize("name", FAULTS)
def test_a_planted_fault_is_found_and_named(name: str) -> None:
    quota = some_books()
    plant, sentence = FAULTS[name]
    plant(quota)
    faults = check_books()
    assert [fault for fault in faults if sentence in fault], faults
    assert any(quota.key in fault for fault in faults)


def test_however_many_quotas_there_are_the_questions_are_the_same(django_assert_num_queries: Any) -> None:
    for _ in range(3):
        some_books()
    with django_assert_num_queries(len(CHECKS)):
        check_books()


def test_of_many_faults_of_one_kind_some_are_told_and_the_rest_is_mentioned() -> None:
    quota = make_quota()
    for number in range(MOST_TOLD + 20):
        an_entry(quota, idempotency_key=f"planted {number}", kind=EntryKind.REFUND, amount=0)
    faults = [fault for fault in check_books() if "gives back what was not charged" in fault]
    assert len(faults) == MOST_TOLD + 1
    assert faults[-1].startswith("And more of the same")

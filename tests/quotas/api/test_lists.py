"""The lists of the quotas over the API, a fixed number of queries each; and a charge that is given back."""

from collections.abc import Callable

import pytest
from django.contrib.admin.models import LogEntry
from django.db import connection
from django.test.utils import CaptureQueriesContext

from project.kit.clock import database_now
from quotas import reserving
from quotas.api import RESOURCES
from quotas.models import Edge, LedgerEntry, ProviderReport
from tests.kit.api.caller import Program, chiefs_program, problem_of
from tests.quotas.admin.desk import charge, make_quota

pytestmark = pytest.mark.django_db

MOST_QUERIES = 2  # the token with its user, and the rows


def make_history() -> None:
    """Insert a quota that is part of another, and a row of each kind of it."""
    now, quota = database_now(), make_quota(100, parent=make_quota(1000))
    charge(quota, 30, owner="run:1")
    reserving.reserve(quota.key, 5, now=now, owner="run:2")
    Edge.objects.create(quota=quota, cause="top_up", available=70, at=now)
    ProviderReport.objects.create(quota=quota, at=now, limited=True, status=429)


def queries_of(program: Program, path: str) -> list[str]:
    """Return the SQL of a request by a program whose token was used a moment ago."""
    program.get(path)
    with CaptureQueriesContext(connection) as captured:
        assert program.get(path).json()["results"]
    return [query["sql"] for query in captured]


@pytest.mark.parametrize("name", RESOURCES)
def test_a_list_asks_twice_for_however_many_rows_and_counts_nothing(name: str) -> None:
    for _ in range(3):
        make_history()
    sql = queries_of(chiefs_program(), f"{name}/")
    assert len(sql) == MOST_QUERIES
    assert not [each for each in sql if "COUNT(" in each.upper()]


@pytest.mark.parametrize(
    ("address", "count"),
    [
        ("quota-ledger/?quota={0}", 2),
        ("quota-ledger/?quota={0}&kind=charge", 1),
        ("quota-ledger/?charged={0}&kind=charge", 2),  # its own entry, and its parent's
        ("quota-ledger/?owner=run:1", 2),
        ("quota-reservations/?state=held&owner=run:2", 1),
        ("quota-reservations/?state=settled", 0),
        ("quota-edges/?quota={0}&cause=top_up", 1),
        ("quota-reports/?quota={0}&limited=true", 1),
        ("quota-reports/?limited=false", 0),
    ],
)
def test_what_happened_is_found_by_its_quota_and_what_it_is(address: str, count: int) -> None:
    make_history()
    part = Edge.objects.get().quota
    assert len(chiefs_program().get(address.format(part.pk)).json()["results"]) == count


def test_an_entry_says_whose_balance_it_changed_and_through_which_quota() -> None:
    make_history()
    entry = LedgerEntry.objects.exclude(quota_id=Edge.objects.get().quota_id).get(kind="charge")
    shown = chiefs_program().get(f"quota-ledger/{entry.pk}/").json()
    assert (shown["quota_key"], shown["charged_key"]) == (entry.quota.key, entry.charged.key)
    assert (shown["units"], shown["amount"], shown["owner"], shown["refunded_by"]) == (30, -30, "run:1", None)


def test_a_limit_that_was_taken_away_is_an_entry_of_no_units() -> None:
    entry = make_quota(None).entries.get()
    assert chiefs_program().get(f"quota-ledger/{entry.pk}/").json()["units"] is None


# --- refunds ---------------------------------------------------------------------------------------------------------

Entry = Callable[[], LedgerEntry]


def a_charge() -> LedgerEntry:
    """Charge a quota, and return its entry."""
    return charge(make_quota(100, parent=make_quota(None)), 30)


def a_limit() -> LedgerEntry:
    """Return the entry of a quota's limit."""
    return make_quota().entries.get()


def test_a_charge_is_given_back_once() -> None:
    entry, program = a_charge(), chiefs_program()
    shown = program.post(f"quota-ledger/{entry.pk}/refund/", {"amount": 10, "reason": "Not delivered"}).json()
    refund = LedgerEntry.objects.get(kind="refund", quota=entry.quota)
    assert (refund.units, refund.reason) == (10, "Not delivered")
    assert shown["id"] == entry.pk
    assert program.get(f"quota-ledger/{entry.pk}/").json()["refunded_by"] == refund.pk
    assert "Refund: Not delivered" in LogEntry.objects.get().change_message
    again = program.post(f"quota-ledger/{entry.pk}/refund/", {"reason": "x"})
    assert "It was refunded already: 10 of 30." in problem_of(again, 409)["detail"]


@pytest.mark.parametrize(
    ("entry", "said", "status", "sentence"),
    [
        (a_charge, {"amount": 31, "reason": "x"}, 400, "At most 30 were charged."),
        (a_charge, {"amount": 5}, 400, "required"),
        (a_limit, {"reason": "x"}, 409, "Only a charge can be refunded."),
    ],
)
def test_what_cannot_be_given_back_is_said(entry: Entry, said: dict[str, object], status: int, sentence: str) -> None:
    answer = chiefs_program().post(f"quota-ledger/{entry().pk}/refund/", said)
    assert sentence in problem_of(answer, status)["detail"]
    assert not LedgerEntry.objects.filter(kind="refund").exists()

"""Which reports and edges go; the ledger stays."""

from datetime import datetime

import pytest

from project.kit.pruning import prune
from quotas import pruning
from quotas.checking import check_books
from quotas.models import Edge, LedgerEntry, ProviderReport, Quota
from quotas.states import Cause
from tests.quotas.factories import DAY, MINUTE, NOW, make_quota, spend

pytestmark = pytest.mark.django_db

REPORTS, EDGES = pruning.KINDS
OLD, LIMIT = NOW - 40 * DAY, NOW - 30 * DAY


def make_reports(quota: Quota, *instants: datetime) -> None:
    """Insert what the provider of the quota said at these instants."""
    ProviderReport.objects.bulk_create(ProviderReport(quota=quota, at=at, remaining=1) for at in instants)


def test_old_reports_go_but_the_latest_of_each_quota() -> None:
    quiet, busy = make_quota(), make_quota()
    make_reports(quiet, OLD, OLD + MINUTE)
    make_reports(busy, OLD, OLD + MINUTE, NOW)
    assert sum(prune(REPORTS, before=LIMIT)) == 3
    left = ProviderReport.objects.order_by("pk").values_list("quota", "at")
    assert list(left) == [(quiet.pk, OLD + MINUTE), (busy.pk, NOW)]


@pytest.mark.parametrize(("handled_at", "goes"), [(OLD, 1), (None, 0), (NOW, 0)])
def test_an_old_edge_goes_once_it_was_handled_long_ago(handled_at: datetime | None, goes: int) -> None:
    Edge.objects.create(quota=make_quota(), cause=Cause.RESET, at=OLD, handled_at=handled_at)
    assert sum(prune(EDGES, before=LIMIT)) == goes


def test_the_ledger_is_no_history_and_stays() -> None:
    spend(make_quota(now=OLD), 7, now=OLD)
    entries = LedgerEntry.objects.count()
    for kind in pruning.KINDS:
        list(prune(kind, before=LIMIT))
    assert LedgerEntry.objects.count() == entries
    assert check_books() == []

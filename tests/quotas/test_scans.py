"""The scan: finds what may have changed by time, whoever holds it and whatever is wrong with another."""

import logging
from collections.abc import Iterator

import pytest
from django.db import transaction

from quotas import scans
from quotas.models import Quota
from quotas.states import Verdict
from tests.quotas.factories import (
    DAY,
    NOW,
    SECOND,
    change_row,
    edges_of,
    make_daily,
    make_quota,
    nobody_heeds_edges,
    now_is,
    spend,
)
from tests.races.helpers import do_elsewhere, winner_holding


@pytest.fixture(autouse=True)
def _nobody_heeds_edges() -> Iterator[None]:
    with nobody_heeds_edges():
        yield


def drained() -> Quota:
    quota = make_daily(10)
    spend(quota, 10)
    return quota


@pytest.mark.django_db
def test_all_that_is_due_is_judged_once_and_nothing_else() -> None:
    quotas = [drained() for _ in range(5)]
    idle, capacity = make_daily(10), make_quota(0)
    assert scans.evaluate_due(now=NOW + DAY) == 5
    assert scans.evaluate_due(now=NOW + DAY) == 0
    assert [edges_of(quota) for quota in quotas] == [["reset"]] * 5
    assert edges_of(idle) == edges_of(capacity) == []


@pytest.mark.django_db
def test_more_than_a_batch_is_judged_by_several_scans(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(scans, "BATCH", 2)
    quotas = [drained() for _ in range(5)]
    assert [scans.evaluate_due(now=NOW + DAY) for _ in range(4)] == [2, 2, 1, 0]
    assert all(now_is(quota).verdict == Verdict.SUFFICIENT for quota in quotas)


@pytest.mark.django_db
def test_a_quota_whose_zone_is_not_known_any_more_holds_up_no_other(caplog: pytest.LogCaptureFixture) -> None:
    """B62, B70: it is flagged in the log."""
    broken, whole = drained(), drained()
    change_row(broken, timezone="Europe/Atlantis", evaluate_at=NOW)
    with caplog.at_level(logging.ERROR, "quotas.scans"):
        assert scans.evaluate_due(now=NOW + DAY) == 1
    assert edges_of(whole) == ["reset"]
    assert f"quota #{broken.pk} cannot be judged" in caplog.text


@pytest.mark.django_db(transaction=True)
def test_a_quota_that_somebody_holds_holds_up_no_other() -> None:
    held, free = drained(), drained()
    with winner_holding(held):
        assert do_elsewhere(lambda: scans.evaluate_due(now=NOW + DAY)) == 1
        assert (edges_of(held), edges_of(free)) == ([], ["reset"])
    assert scans.evaluate_due(now=NOW + DAY) == 1
    assert edges_of(held) == ["reset"]


@pytest.mark.django_db(transaction=True)
def test_whoever_holds_a_quota_at_its_reset_judges_it_himself_or_leaves_it_due() -> None:
    quota = drained()
    midnight = now_is(quota).period_end
    assert midnight is not None
    with transaction.atomic():
        scans.evaluate(quota.pk, now=midnight - SECOND)
        assert do_elsewhere(lambda: scans.evaluate_due(now=midnight)) == 0
    assert scans.evaluate_due(now=midnight) == 1
    assert edges_of(quota) == ["reset"]


@pytest.mark.django_db
def test_a_check_that_its_caller_lost_is_due_again_soon() -> None:
    quota = make_quota(1, poll_floor_seconds=30)
    spend(quota, 1)
    later = NOW + DAY
    assert scans.claim_checks(now=later) == [quota.pk]
    assert scans.claim_checks(now=later + 29 * SECOND) == []
    assert scans.claim_checks(now=later + 30 * SECOND) == [quota.pk]

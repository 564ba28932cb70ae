"""Several workers hear a provider at once: it is one refusal, and what was heard last counts."""

from concurrent.futures import ThreadPoolExecutor
from datetime import timedelta
from threading import Barrier

import pytest
from django.db import connection

from project.kit.clock import database_now
from quotas import defining, observing
from quotas.models import ProviderReport, Quota
from quotas.provider.observation import Observation
from quotas.states import Kind
from tests.races.helpers import run_before

pytestmark = pytest.mark.django_db(transaction=True)

WORKERS = 8


def test_workers_that_are_refused_at_once_are_one_refusal_and_one_report() -> None:
    make_quota()
    together = Barrier(WORKERS)

    def be_refused(_: int) -> None:
        try:
            together.wait()
            observing.observe("api", {}, status=429, now=database_now())
        finally:
            connection.close()

    with ThreadPoolExecutor(WORKERS) as workers:
        list(workers.map(be_refused, range(WORKERS)))

    quota = Quota.objects.get()
    assert (quota.blocked_count, quota.blocked_without_reset) == (1, True)
    assert ProviderReport.objects.count() == 1


def test_what_was_heard_later_counts_even_if_it_is_noted_first() -> None:
    make_quota()
    now = database_now()
    later = Observation(now + timedelta(seconds=1), status=200, remaining=7, resets_at=now + timedelta(hours=1))

    with run_before("quotas.observing._take_in", lambda: observing.record("api", later)):
        observing.observe("api", {"Retry-After": "30"}, status=429, now=now)

    quota = Quota.objects.get()
    assert (quota.provider_remaining, quota.blocked_until) == (7, None)


def test_the_work_that_was_refused_waits_even_if_its_refusal_came_second() -> None:
    make_quota()
    now = database_now()
    observing.record("api", Observation(now + timedelta(seconds=1), status=200, remaining=7))

    refusal = observing.record("api", Observation(now, status=429, limited=True, retry_at=now + timedelta(seconds=30)))

    assert refusal is not None
    assert refusal.expected_at == now + timedelta(seconds=30)


def make_quota() -> Quota:
    return defining.create(key="api", kind=Kind.CAPACITY, now=database_now())

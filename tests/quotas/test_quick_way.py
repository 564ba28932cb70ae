"""The charge in one statement and the charge under locks: the same operations leave the same rows."""

from collections.abc import Callable
from contextlib import nullcontext
from typing import Any

import pytest
from django.db import transaction
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from quotas import charging, reserving, scans
from quotas.models import Edge, LedgerEntry, Quota, Reservation
from quotas.refusals import QuotaError
from quotas.states import Kind
from tests.quotas.factories import HOUR, NOW, SECOND, audit, block, make_quota, no_quick_way, say_remaining

pytestmark = [pytest.mark.slow, pytest.mark.django_db]

KEYS = ["root", "daily", "leaf", "rate", "shadow", "open"]
KEY = st.sampled_from(KEYS)
AMOUNT = st.one_of(st.integers(1, 4), st.sampled_from([15, 39, 80]))
STEP = st.sampled_from([0, 0, 0, 1, 60, 3600, 13 * 3600])  # seconds that pass before

charges = st.tuples(st.just("charge"), KEY, AMOUNT, st.sampled_from(["", "run:1"]), st.integers(0, 12))
others = st.one_of(
    st.tuples(st.just("reserve"), KEY, AMOUNT),
    st.tuples(st.just("settle"), st.integers(1, 5), AMOUNT),
    st.tuples(st.just("refund"), KEY, st.integers(0, 12)),
    st.tuples(st.just("set_limit"), KEY, st.sampled_from([None, 0, 20, 100, 200])),
    st.tuples(st.just("top_up"), KEY, AMOUNT),
    st.tuples(st.just("look"), KEY),
    st.tuples(st.just("block"), KEY),
    st.tuples(st.just("remaining"), KEY, AMOUNT),
)
operations = st.lists(st.tuples(STEP, st.one_of(charges, charges, others)), max_size=25)


def make_quotas() -> dict[str, Quota]:
    root = make_quota(200, key="root")
    daily = make_quota(100, key="daily", kind=Kind.PERIODIC, reset_preset="day", parent=root)
    return {
        "root": root,
        "daily": daily,
        "leaf": make_quota(100, key="leaf", parent=daily),
        "rate": make_quota(80, key="rate", kind=Kind.RATE, refill_amount=1, refill_seconds=60, parent=root),
        "shadow": make_quota(40, key="shadow", shadow=True, parent=daily),
        "open": make_quota(None, key="open"),
    }


def carry_out(quotas: dict[str, Quota], operation: Any, now: Any) -> Any:
    """Do what was drawn and return its answer."""
    kind, *said = operation
    return DEEDS[kind](quotas, now, *said)


def _charge(_: Any, now: Any, key: str, amount: int, owner: str, number: int) -> tuple[int, bool, bool]:
    step = f"step {number}" if number else None
    result = charging.charge(key, amount, now=now, idempotency_key=step, owner=owner)
    return result.amount, result.repeated, result.over_limit


def _settle(_: Any, now: Any, which: int, amount: int) -> list[bool]:
    held = Reservation.objects.order_by("id")[which - 1 : which]
    return [reserving.settle(one.pk, amount, now=now) for one in held]


DEEDS: dict[str, Callable[..., Any]] = {
    "charge": _charge,
    "reserve": lambda _, now, key, amount: reserving.reserve(key, amount, now=now, lease=HOUR).amount,
    "settle": _settle,
    "refund": lambda _, now, key, number: charging.refund(key, f"step {number}", now=now),
    "set_limit": lambda _, now, key, limit: charging.set_limit(key, limit, now=now),
    "top_up": lambda _, now, key, amount: charging.top_up(key, amount, now=now),
    "look": lambda quotas, now, key: scans.evaluate(quotas[key].pk, now=now).verdict,
    "block": lambda quotas, now, key: block(quotas[key], now + 60 * SECOND, now=now),
    "remaining": lambda quotas, now, key, amount: say_remaining(quotas[key], amount, now + HOUR, now=now),
}


def rows_after(plan: Any, *, quick: bool) -> list[Any]:
    """Return all that the operations left behind and answered, without the numbers of the rows; leave nothing."""
    answers: list[Any] = []
    with transaction.atomic(), nullcontext() if quick else no_quick_way():
        quotas = make_quotas()
        keys = {quota.pk: key for key, quota in quotas.items()}
        now = NOW
        for seconds, operation in plan:
            now += seconds * SECOND
            try:
                with transaction.atomic():
                    answers.append(carry_out(quotas, operation, now))
            except QuotaError as error:
                answers.append(type(error))
        audit()
        # sorted, since the two enter the links of one charge in different orders
        rows = [sorted(_plain(model, keys), key=repr) for model in (Quota, LedgerEntry, Edge, Reservation)]
        transaction.set_rollback(True)
    return [answers, *rows]


def _plain(model: Any, keys: dict[int, str]) -> Any:
    for row in model.objects.order_by("id").values():
        own_key = str(row.get("idempotency_key", "")).startswith("tideline:")
        for name in ("id", "ancestors", "next_check_at", *(["idempotency_key"] if own_key else [])):
            row.pop(name, None)
        yield {name: keys.get(value) if name.endswith("_id") else value for name, value in row.items()}


@settings(max_examples=40, deadline=None, suppress_health_check=list(HealthCheck))
@given(plan=operations)
def test_the_quick_way_and_the_slow_way_leave_the_same_rows_and_give_the_same_answers(plan: Any) -> None:
    """Only `next_check_at` is left out: its jitter is each quota's own, by its number."""
    quick, slow = rows_after(plan, quick=True), rows_after(plan, quick=False)
    for one, other in zip(quick, slow, strict=True):
        assert one == other

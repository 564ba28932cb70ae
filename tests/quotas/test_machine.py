"""Whatever happens to quotas, and in whatever order, they are as on paper, and their books prove it.

Hypothesis draws charges, reservations, settlements, refunds, top-ups, resets, other limits and rules, refusals of
providers and the passing of time; after each step the rows are compared with a plain model.
`TIDELINE_TEST_EXAMPLES=5000` draws as many examples as that, and takes the time to look for the shortest way to what
fails.
"""

import os
from collections import Counter
from datetime import datetime, timedelta
from typing import Any

import pytest
from django.db import transaction
from hypothesis import HealthCheck, Phase, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, precondition, rule, run_state_machine_as_test

from quotas import availability, charging, evaluating, reserving, scans
from quotas.defining import save_changes
from quotas.models import Edge, Quota, Reservation
from quotas.purchases import settlement_key
from quotas.refusals import NeverSatisfiable, QuotaError, Refused
from quotas.states import Cause, Kind, Verdict
from tests.quotas.factories import DAY, HOUR, MINUTE, NOW, SECOND, audit, block, books_of, make_quota
from tests.quotas.plain import PlainBooks, PlainQuota, PlainReservation

pytestmark = [pytest.mark.slow, pytest.mark.django_db]

EXAMPLES = int(os.environ.get("TIDELINE_TEST_EXAMPLES", "25"))
LONG = EXAMPLES > 1000

KEYS = ("root", "daily", "rate", "open")
KEY = st.sampled_from(KEYS)
AMOUNT = st.one_of(st.integers(1, 9), st.sampled_from([20, 40, 95]))
PICK = st.integers(0, 1_000)


class Quotas(RuleBasedStateMachine):
    """The quotas, their plain counterparts, and the clock."""

    def __init__(self) -> None:
        super().__init__()
        self._undone = transaction.atomic()
        self._undone.__enter__()
        self.now, self.plain, self.steps = NOW, PlainBooks(), 0
        root = make_quota(100, key="root")
        make_quota(60, key="daily", kind=Kind.PERIODIC, reset_preset="day", parent=root)
        make_quota(10, key="rate", kind=Kind.RATE, refill_amount=1, refill_seconds=60, parent=root)
        make_quota(None, key="open")
        plain = self.plain.quotas
        plain["root"] = PlainQuota("capacity", 100, NOW)
        plain["daily"] = PlainQuota("periodic", 60, NOW, plain["root"])
        plain["rate"] = PlainQuota("rate", 10, NOW, plain["root"])
        plain["open"] = PlainQuota("capacity", None, NOW)
        self.rows, self.edges = self._rows(), Counter[str]()

    def teardown(self) -> None:
        try:
            self._time_heals()
        finally:
            transaction.set_rollback(True)
            self._undone.__exit__(None, None, None)

    # --- what happens --------------------------------------------------------------------------------------------

    @rule(seconds=st.sampled_from([1, 10, 59, 60, 61, 3600, 13 * 3600, 50 * 3600]))
    def time_passes(self, seconds: int) -> None:
        self.now += seconds * SECOND
        self.plain.let_time_pass(self.now)

    @rule()
    def the_scan_looks(self) -> None:
        scans.evaluate_due(now=self.now)
        assert not Quota.objects.filter(evaluate_at__lte=self.now).exists()

    @rule(key=KEY)
    def the_fallback_poll_looks(self, key: str) -> None:
        scans.evaluate(self.rows[key].pk, now=self.now, checked=True)

    @rule(key=KEY, amount=AMOUNT)
    def charge(self, key: str, amount: int) -> None:
        step = self._new_step()
        if self._is_granted(key, amount, lambda: charging.charge(key, amount, now=self.now, idempotency_key=step)):
            self.plain.spend(key, step, amount)

    @precondition(lambda self: self.plain.charges)
    @rule(pick=PICK)
    def charge_again(self, pick: int) -> None:
        """The key was seen: nothing is charged, whatever is left."""
        key, step = self._charge(pick)
        units = self.plain.charges[key, step].units
        if not step.startswith("tideline:"):
            assert charging.charge(key, units, now=self.now, idempotency_key=step).repeated

    @precondition(lambda self: self.plain.charges)
    @rule(pick=PICK)
    def refund(self, pick: int) -> None:
        key, step = self._charge(pick)
        charging.refund(key, step, now=self.now)
        self.plain.refund(key, step)

    @rule(key=KEY, amount=AMOUNT, lease=st.sampled_from([MINUTE, HOUR, 3 * DAY]))
    def reserve(self, key: str, amount: int, lease: timedelta) -> None:
        step = self._new_step()
        if self._is_granted(
            key, amount, lambda: reserving.reserve(key, amount, now=self.now, lease=lease, idempotency_key=step)
        ):
            pk = Reservation.objects.get(idempotency_key=step).pk
            self.plain.reservations[pk] = PlainReservation(self.plain.quotas[key], amount, self.now + lease)

    @precondition(lambda self: self.plain.reservations)
    @rule(pick=PICK, actual=st.integers(0, 30))
    def settle(self, pick: int, actual: int) -> None:
        pk, held = self._reservation(pick)
        if held.state == "released":
            with pytest.raises(QuotaError):
                reserving.settle(pk, actual, now=self.now)
            return
        assert reserving.settle(pk, actual, now=self.now) == (held.state != "settled")
        if held.state != "settled" and actual:
            self.plain.spend(self._key_of(held), settlement_key(pk), actual)
        held.state = "settled"

    @precondition(lambda self: self.plain.reservations)
    @rule(pick=PICK)
    def release(self, pick: int) -> None:
        pk, held = self._reservation(pick)
        assert reserving.release(pk, now=self.now) == (held.state == "held")
        held.state = "released" if held.state == "held" else held.state

    @rule()
    def free_expired(self) -> None:
        gone = [held for held in self.plain.reservations.values() if held.state == "held" and self._has_ended(held)]
        assert reserving.free_expired(now=self.now) == len(gone)
        for held in gone:
            held.state = "expired"

    @rule(key=KEY, limit=st.sampled_from([None, 0, 1, 10, 60, 100, 300]))
    def set_limit(self, key: str, limit: int | None) -> None:
        if key == "rate" and limit is None:
            limit = 10
        charging.set_limit(key, limit, now=self.now)
        self.plain.quotas[key].limit = limit

    @precondition(lambda self: self.plain.quotas["root"].limit is not None)
    @rule(amount=AMOUNT)
    def top_up(self, amount: int) -> None:
        root = self.plain.quotas["root"]
        assert root.limit is not None
        root.limit += amount
        assert charging.top_up("root", amount, now=self.now) == root.limit

    @rule()
    def reset_before_its_time(self) -> None:
        assert charging.reset("daily", now=self.now) == self.plain.quotas["daily"].used
        self.plain.quotas["daily"].begin_anew()

    @rule(preset=st.sampled_from(["hour", "day"]))
    def change_the_rule(self, preset: str) -> None:
        row = Quota.objects.get(key="daily")
        row.reset_preset = preset
        if save_changes(row, expected_version=row.version, now=self.now):
            self.plain.quotas["daily"].change_rule(HOUR if preset == "hour" else DAY)

    @rule(key=KEY, seconds=st.sampled_from([1, 60, 7200]))
    def the_provider_refuses(self, key: str, seconds: int) -> None:
        until = self.now + seconds * SECOND
        block(self.rows[key], until, now=self.now)
        self.plain.quotas[key].blocked_until = until

    @rule(key=KEY)
    def the_provider_answers(self, key: str) -> None:
        with books_of(self.rows[key], now=self.now) as locked:
            locked.blocked_until, locked.provider_unverified = None, False
        self.plain.quotas[key].blocked_until = None

    @rule(key=KEY, need=st.one_of(st.none(), AMOUNT))
    def somebody_waits(self, key: str, need: int | None) -> None:
        with books_of(self.rows[key], now=self.now, cause=Cause.SPENDING) as locked:
            evaluating.note_waiting(locked, need, None if need is None else self.now)
        self.rows[key].waited_met = False  # it may be told of at once

    # --- what always holds ---------------------------------------------------------------------------------------

    @invariant()
    def it_is_as_on_paper(self) -> None:
        audit()
        for key, row in self._rows().items():
            plain = self.plain.quotas[key]
            assert availability.available(row, self.now) == self.plain.available(plain), key
            assert availability.used_at(row, self.now) == plain.used, key

    @invariant()
    def edges_only_rise(self) -> None:
        """One for each rise, none without one, save for a need that came."""
        rows, edges = self._rows(), Counter(Edge.objects.values_list("quota__key", flat=True))
        for key, row in rows.items():
            before, new = self.rows[key], edges[key] - self.edges[key]
            rose = (before.verdict, row.verdict) == (Verdict.INSUFFICIENT, Verdict.SUFFICIENT)
            need_came = row.waited_for is not None and row.waited_met and not before.waited_met
            assert new == 1 if rose else new == need_came, (key, new, rose, need_came)
            if row.verdict == Verdict.SUFFICIENT:
                assert availability.available(row, self.now) != 0, key
        self.rows, self.edges = rows, edges

    def _time_heals(self) -> None:
        """With nothing but scans, whatever has more than its threshold is called sufficient in the end."""
        for key in KEYS:
            self.the_provider_answers(key)
        for _ in range(6):
            self.now += HOUR
            scans.evaluate_due(now=self.now)
        for row in self._rows().values():
            left = availability.available(row, self.now)
            if left is None or left > availability.bar(row):
                assert row.verdict == Verdict.SUFFICIENT, row.key

    # --- helpers -------------------------------------------------------------------------------------------------

    def _is_granted(self, key: str, amount: int, wish: Any) -> bool:
        outcome, before = self.plain.verdict_on(key, amount), Quota.objects.filter(key=key).values().get()
        if outcome == "granted":
            wish()
            return True
        with pytest.raises(NeverSatisfiable if outcome == "never" else Refused):
            wish()
        assert Quota.objects.filter(key=key).values().get() == before, "a refusal changed something"
        return False

    def _new_step(self) -> str:
        self.steps += 1
        return f"step {self.steps}"

    def _charge(self, pick: int) -> tuple[str, str]:
        return list(self.plain.charges)[pick % len(self.plain.charges)]

    def _reservation(self, pick: int) -> tuple[int, PlainReservation]:
        return list(self.plain.reservations.items())[pick % len(self.plain.reservations)]

    def _key_of(self, held: PlainReservation) -> str:
        return next(key for key, quota in self.plain.quotas.items() if quota is held.quota)

    def _has_ended(self, held: PlainReservation) -> bool:
        expires_at: datetime = held.expires_at
        return expires_at <= self.now

    def _rows(self) -> dict[str, Quota]:
        return {row.key: row for row in Quota.objects.all()}


@pytest.mark.timeout(300 if not LONG else 0)
def test_whatever_happens_to_quotas_they_are_as_on_paper() -> None:
    profile = settings(
        max_examples=EXAMPLES,
        stateful_step_count=40,
        deadline=None,
        suppress_health_check=list(HealthCheck),
        print_blob=True,
        phases=Phase if LONG else [Phase.generate],
    )
    run_state_machine_as_test(Quotas, settings=profile)

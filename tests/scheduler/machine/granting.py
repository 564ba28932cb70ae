"""The rules of the quotas: people top them up, change their limits and refund, providers refuse, the clock gives back,
and what waits is resumed by an edge, a poll or a person.
"""

from collections.abc import Iterator
from contextlib import contextmanager, suppress
from datetime import timedelta
from typing import Any

from hypothesis import strategies as st
from hypothesis.stateful import precondition, rule

from quotas import availability, charging, defining, observing, reserving, scans
from quotas.models import LedgerEntry, Quota, Reservation
from quotas.refusals import NeverSatisfiable, Refused
from quotas.states import EntryKind, Kind, ReservationState
from scheduler import operations, pausing, recovering, resuming
from scheduler.models import QuotaWait, TaskRun
from scheduler.operations import Resumed
from scheduler.states import RunState
from tests.scheduler.machine.house import chosen
from tests.scheduler.machine.planning import AWAY, PICK, ZONE, Planning

# A total that people top up, a part of it that resets with the hour, a part that refills, and one by itself.
QUOTAS: tuple[dict[str, Any], ...] = (
    {"key": "account", "kind": Kind.CAPACITY, "limit": 12},
    {"key": "calls", "kind": Kind.PERIODIC, "limit": 5, "reset_preset": "hour", "timezone": ZONE, "parent": "account"},
    {"key": "pace", "kind": Kind.RATE, "limit": 3, "refill_amount": 1, "refill_seconds": 60, "parent": "account"},
    {"key": "credit", "kind": Kind.CAPACITY, "limit": 4, "stable_after_reset_seconds": 30},
)
KEYS = st.sampled_from([str(quota["key"]) for quota in QUOTAS])
AMOUNTS = st.integers(min_value=1, max_value=3)
SPANS = st.sampled_from(AWAY)


class Granting(Planning):
    """What gives to the quotas and takes from them beside the jobs, and what resumes."""

    def open_quotas(self) -> None:
        """Create the quotas."""
        for fields in QUOTAS:
            parent = Quota.objects.get(key=fields["parent"]) if "parent" in fields else None
            defining.create(**fields | {"parent": parent}, now=self.tick())

    # --- people and providers ------------------------------------------------------------------------------------

    @rule(key=st.sampled_from(["account", "credit"]), amount=AMOUNTS)
    def top_up(self, key: str, amount: int) -> None:
        total = charging.top_up(key, amount, now=self.tick(), actor="ada")
        assert total == Quota.objects.get(key=key).limit

    @rule(key=KEYS, limit=st.integers(0, 12))
    def set_the_limit(self, key: str, limit: int) -> None:
        """Also below what is used: that is a debt, and stops nothing that runs."""
        running = TaskRun.objects.filter(state=RunState.RUNNING).count()
        charging.set_limit(key, limit, now=self.tick(), actor="ada")
        assert TaskRun.objects.filter(state=RunState.RUNNING).count() == running

    @precondition(lambda self: LedgerEntry.objects.filter(kind=EntryKind.CHARGE).exists())
    @rule(pick=PICK)
    def refund(self, pick: int) -> None:
        charges = LedgerEntry.objects.filter(kind=EntryKind.CHARGE).order_by("pk")
        charged = chosen([entry for entry in charges if entry.quota_id == entry.charged_id], pick)
        key = charged.charged.key
        given = charging.refund(key, charged.idempotency_key, now=self.tick(), actor="ada")
        assert 0 <= given <= charged.units
        assert charging.refund(key, charged.idempotency_key, now=self.tick()) == given

    @rule(key=KEYS, seconds=st.sampled_from([None, 30, 7200]))
    def the_provider_refuses(self, key: str, seconds: int | None) -> None:
        """It says until when, or it does not."""
        headers = {} if seconds is None else {"Retry-After": str(seconds)}
        observing.observe(key, headers, status=429, now=self.tick())

    @rule(key=KEYS)
    def the_provider_answers(self, key: str) -> None:
        observing.observe(key, {}, status=200, now=self.tick())

    @rule(key=KEYS, amount=AMOUNTS, seconds=st.sampled_from([60, 3600]))
    def somebody_else_holds_some(self, key: str, amount: int, seconds: int) -> None:
        """And dies: what he holds is free again when its lease ends."""
        with suppress(Refused, NeverSatisfiable):
            reserving.reserve(key, amount, now=self.tick(), lease=timedelta(seconds=seconds), owner="somebody else")

    # --- what resumes --------------------------------------------------------------------------------------------

    @rule(away=SPANS)
    def resume_what_may_go_on(self, away: timedelta) -> None:
        """The scan comes, as `tasks.resume_due` does, perhaps after a time in which none came."""
        self.set_clock(self.now + away)
        reserving.free_expired(now=self.now)
        scans.evaluate_due(now=self.now)
        with self.nobody_early():
            recovering.resume_by_events(now=self.now)
        pausing.return_to_pause(now=self.tick())
        assert not Reservation.objects.filter(state=ReservationState.HELD, expires_at__lte=self.now).exists()
        assert not TaskRun.objects.filter(state=RunState.RESUMING, deadline_at__lte=self.now).exists()

    @rule()
    def take_the_edges(self) -> None:
        """As it is done right after the commit that wrote them."""
        with self.nobody_early():
            resuming.take_edges(now=self.tick())

    @rule(away=SPANS)
    def poll(self, away: timedelta) -> None:
        self.set_clock(self.now + away)
        with self.nobody_early():
            recovering.poll(clock=lambda: self.now)

    @precondition(lambda self: self.runs)
    @rule(pick=PICK)
    def a_person_resumes(self, pick: int) -> None:
        run = TaskRun.objects.get(pk=chosen(list(self.runs), pick))
        is_paused = run.state == RunState.PAUSED
        went_on = run.pause_count > 0 and run.state in operations.WENT_ON
        with self.possible(is_paused or went_on), self.nobody_early():
            resumed = operations.resume(run, now=self.tick(), actor="ada")
            assert (resumed == Resumed.ALREADY) == (not is_paused)

    @contextmanager
    def nobody_early(self) -> Iterator[None]:
        """Check that whoever is resumed in the block fits into all its quotas, and that no provider refuses."""
        before = list(TaskRun.objects.filter(state=RunState.RESUMING).values_list("pk", flat=True))
        yield
        resumed = QuotaWait.objects.filter(run__state=RunState.RESUMING).exclude(run__in=before)
        for wait in resumed.select_related("quota", "run"):
            for link in Quota.objects.filter(pk__in=wait.quota.chain):
                assert link.limit is not None
                assert link.used + link.reserved <= link.limit, ("resumed early", wait.run, link)
                assert not availability.is_blocked(link, self.now), ("resumed early", wait.run, link)

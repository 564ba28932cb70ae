"""How a job spends: under its run's name, so that what belongs to an attempt can be given back with it."""

import uuid
from collections.abc import Callable, Sequence
from datetime import datetime, timedelta
from types import TracebackType
from typing import TypeVar

from django.conf import settings
from django.db.models import F

from project.kit.clock import database_now
from project.kit.outages import outlast
from quotas import charging, reserving
from quotas.charging import Charged
from quotas.models import LedgerEntry, Reservation
from quotas.refusals import PauseNeeded, Refused
from quotas.states import EntryKind, ReservationState
from scheduler.models import TaskRun
from scheduler.waits import owner_of

Granted = TypeVar("Granted")


class Spending:
    """The quotas as one attempt of a run uses them.

    Attributes:
        touched: whether anything was charged, reserved or refused; then there are accounts to close.
        granted: whether anything was granted.
    """

    def __init__(self, run: TaskRun, clock: Callable[[], datetime]) -> None:
        self._owner, self._attempt, self._clock = owner_of(run.pk), run.attempt_count, clock
        self.touched = self.granted = False

    def charge(
        self, quota: str, amount: int = 1, *, idempotency_key: str | None = None, refund_on_failure: bool = False
    ) -> Charged:
        """Charge the amount; see RunContext.charge."""
        names = self._names(idempotency_key)
        # A charge is given back if it came after the last checkpoint, which is dated by the database's own clock.
        clock = database_now if refund_on_failure else self._clock

        def charge() -> Charged:
            return charging.charge(
                quota,
                amount,
                now=clock(),
                idempotency_key=_key_of_charge(quota, names) if refund_on_failure else names[0],
                owner=self._owner,
                attempt=self._attempt,
                refund_on_failure=refund_on_failure,
            )

        return self._granted_or_paused(charge)

    def reserve(self, quota: str, amount: int, *, lease: timedelta, idempotency_key: str | None = None) -> "HeldAmount":
        """Hold the amount; see RunContext.reserve."""
        names = self._names(idempotency_key)

        def reserve() -> Reservation:
            return reserving.reserve(
                quota,
                amount,
                now=self._clock(),
                lease=lease,
                idempotency_key=_key_of_reservation(quota, names),
                owner=self._owner,
                attempt=self._attempt,
            )

        return HeldAmount(self._granted_or_paused(reserve), self._clock)

    def _names(self, given: str | None) -> list[str]:
        """Return the keys under which the ledger may know a piece of work: a job's own key is good for its run, in
        whichever attempt, until what was granted is given back; then the attempt that does it again adds its number.
        """
        if not given:
            return [f"{self._owner} {self._attempt} {uuid.uuid4()}"]
        name = f"{self._owner} {given}"
        return [name, *(f"{name} again {attempt}" for attempt in range(2, self._attempt + 1))]

    def _granted_or_paused(self, ask: Callable[[], Granted]) -> Granted:
        self.touched = True
        try:
            granted = outlast(ask, seconds=settings.TIDELINE_LEASE_SECONDS)
        except Refused as refused:
            raise PauseNeeded(refused) from None
        self.granted = True
        return granted


def _key_of_charge(quota: str, names: Sequence[str]) -> str:
    """Return the key of the latest charge of that name, or a fresh one if that was given back."""
    entries = LedgerEntry.objects.filter(charged__key=quota, quota=F("charged"), idempotency_key__in=names)
    charges = entries.filter(kind=EntryKind.CHARGE).order_by("-id")
    latest = charges.values_list("idempotency_key", flat=True).first()
    is_void = entries.filter(kind=EntryKind.REFUND, idempotency_key=latest).exists()
    return _latest_or_fresh(names, latest, is_void=is_void)


def _key_of_reservation(quota: str, names: Sequence[str]) -> str:
    """Return the key of the latest reservation of that name, or a fresh one if that was freed without being used."""
    reservations = Reservation.objects.filter(quota__key=quota, idempotency_key__in=names).order_by("-id")
    latest, state = reservations.values_list("idempotency_key", "state").first() or (None, "")
    is_void = state in (ReservationState.RELEASED, ReservationState.EXPIRED)
    return _latest_or_fresh(names, latest, is_void=is_void)


def _latest_or_fresh(names: Sequence[str], latest: str | None, *, is_void: bool) -> str:
    return names[0] if latest is None else names[-1] if is_void else latest


class HeldAmount:
    """An amount that is held for a piece of work: `settle` it by what the work really took.

    As a context manager it is settled in full at the end, if nobody did that before, and released upon an error.
    """

    def __init__(self, reservation: Reservation, clock: Callable[[], datetime]) -> None:
        self.amount = reservation.amount
        self._id, self._clock, self._ended = reservation.pk, clock, False

    def settle(self, actual: int) -> None:
        """Charge what it really took, which may be more or less, and free the rest. Settling twice changes nothing."""
        outlast(lambda: reserving.settle(self._id, actual, now=self._clock()), seconds=settings.TIDELINE_LEASE_SECONDS)
        self._ended = True

    def release(self) -> None:
        """Free all of it: nothing was spent."""
        outlast(lambda: reserving.release(self._id, now=self._clock()), seconds=settings.TIDELINE_LEASE_SECONDS)
        self._ended = True

    def __enter__(self) -> "HeldAmount":
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        if self._ended:
            return
        if error is None:
            self.settle(self.amount)
        else:
            self.release()

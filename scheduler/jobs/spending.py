"""How a job spends: under its run's name, so that what belongs to an attempt can be given back with it."""

import uuid
from collections.abc import Callable
from datetime import datetime, timedelta
from types import TracebackType
from typing import TypeVar

from django.conf import settings

from project.kit.clock import database_now
from project.kit.outages import outlast
from quotas import charging, reserving
from quotas.charging import Charged
from quotas.models import Reservation
from quotas.refusals import PauseNeeded, Refused
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
        key = self._key(idempotency_key)
        # A charge is given back if it came after the last checkpoint, which is dated by the database's own clock.
        clock = database_now if refund_on_failure else self._clock

        def charge() -> Charged:
            return charging.charge(
                quota,
                amount,
                now=clock(),
                idempotency_key=key,
                owner=self._owner,
                attempt=self._attempt,
                refund_on_failure=refund_on_failure,
            )

        return self._granted_or_paused(charge)

    def reserve(self, quota: str, amount: int, *, lease: timedelta, idempotency_key: str | None = None) -> "HeldAmount":
        """Hold the amount; see RunContext.reserve."""
        key = self._key(idempotency_key)

        def reserve() -> Reservation:
            return reserving.reserve(
                quota,
                amount,
                now=self._clock(),
                lease=lease,
                idempotency_key=key,
                owner=self._owner,
                attempt=self._attempt,
            )

        return HeldAmount(self._granted_or_paused(reserve), self._clock)

    def _key(self, given: str | None) -> str:
        """Return the ledger's key: a job's own key is good for its run, in whichever attempt."""
        return f"{self._owner} {given or f'{self._attempt} {uuid.uuid4()}'}"

    def _granted_or_paused(self, ask: Callable[[], Granted]) -> Granted:
        self.touched = True
        try:
            granted = outlast(ask, seconds=settings.TIDELINE_LEASE_SECONDS)
        except Refused as refused:
            raise PauseNeeded(refused) from None
        self.granted = True
        return granted


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

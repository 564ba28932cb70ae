"""What a job is given: its data day and parameters, its checkpoint, and the ways to say how it goes."""

import itertools
import json
import logging
import time
import uuid
from collections.abc import Callable, Iterable, Iterator, Sized
from datetime import date, datetime, timedelta
from typing import Any, NoReturn, TypeVar

from django.conf import settings
from django.core.serializers.json import DjangoJSONEncoder
from django.db import DatabaseError, InterfaceError, connection

from project.kit.clock import database_now
from project.kit.outages import outlast
from quotas.charging import Charged
from quotas.reserving import DEFAULT_LEASE
from scheduler.identity import SharedSignals
from scheduler.jobs.discretion import Discretion
from scheduler.jobs.interrupts import AwaitingApproval, Cancelled, Deferred, LeaseLost, Stopping
from scheduler.jobs.output import Output
from scheduler.jobs.spending import HeldAmount, Spending
from scheduler.models import Approval, TaskRun
from scheduler.states import RunState

logger = logging.getLogger(__name__)

Item = TypeVar("Item")

# How often `cancelled` asks the database, at the most.
CANCEL_CHECK_SECONDS = 1.0
LONGEST_DEFERRAL_SECONDS = 10 * 366 * 86_400
RUN_KEYS = uuid.UUID("5d1e6d4e-6a0c-4bb0-9d0e-3f3a1c0d7a11")


class RunContext:
    """One attempt of a run, as its job sees it.

    Attributes:
        stat_date: the data day; it never changes, whenever the run goes on.
        planned_at: the instant that the run was planned for.
        params: the parameters, as the job's model.
        attempt: the number of this execution, from 1.
        progress: what was checkpointed, by this attempt or earlier ones.
        done, total: where the bar stands, or None where nobody said.
        deadline: when this attempt times out, or None.
        discreet: masks the secrets of the parameters in a text.
    """

    def __init__(
        self, run: TaskRun, params: Any, signals: SharedSignals, clock: Callable[[], datetime] = database_now
    ) -> None:
        self.run_id = run.pk
        self.name = run.name
        self.stat_date: date = run.stat_date
        self.planned_at: datetime = run.planned_at
        self.params = params
        self.attempt = run.attempt_count
        self.progress: dict[str, Any] = dict(run.progress)
        self.done: int | None = run.progress_done
        self.total: int | None = run.progress_total
        self.deadline: datetime | None = run.deadline_at
        self.discreet = Discretion(params)
        self.output = Output(run.pk, run.attempt_count, self.discreet)
        self.spending = Spending(run, clock)
        self.checkpointed = False
        self._token = run.lease_token
        self._opened_at = run.created_at
        self._signals = signals
        self._cancel_checked = float("-inf")
        self._cancel_asked = False

    @property
    def key(self) -> str:
        """What names this run to others, so that they can tell its second try from another piece of work.

        The same in each attempt, and in no other run of this or another installation.
        """
        return str(uuid.uuid5(RUN_KEYS, f"{self.run_id} opened {self._opened_at.isoformat()}"))

    # --- how far it got ----------------------------------------------------------------------------------------

    def checkpoint(self, /, *, done: int | None = None, total: int | None = None, **values: Any) -> None:
        """Save how far the work got: `values` are merged into `progress`, `done` of `total` draw the bar.

        A database that is away is borne for as long as a lease lasts. Inside a transaction of the job it is saved
        together with the job's own rows, or not at all; such a transaction has to be shorter than the lease.

        Raises:
            LeaseLost: the lease is gone; nothing was saved.
            Cancelled: a person cancelled the run; nothing was saved.
            Stopping: the worker is shutting down; it was saved, and the run goes on elsewhere.
            TypeError, DataError: a value cannot be written as JSON.
        """
        progress = json.dumps({**self.progress, **values}, cls=DjangoJSONEncoder)
        if not outlast(lambda: self._save(progress, done, total), seconds=settings.TIDELINE_LEASE_SECONDS):
            self._explain_refusal()
        self.checkpointed = True
        self.progress = json.loads(progress)  # as the next attempt will see it
        self.done = self.done if done is None else done
        self.total = self.total if total is None else total
        self.output.flush()
        if self._signals.stopping:
            raise Stopping

    def resume(self, iterable: Iterable[Item], key: str, of: Callable[[Item], Any] | None = None) -> Iterator[Item]:
        """Yield the items that come after the one which `progress[key]` names.

        The order must be the same in every attempt. If the named item is not there any more, the items behind its
        place are yielded where the values are sorted, and otherwise all of them: rather twice than never.

        Args:
            key: the name under which the item is checkpointed.
            of: gives an item's value for the checkpoint; by default its `pk`, its `id` or the item itself.

        Raises:
            LeaseLost: the worker was frozen or cut off until its lease ended; the next item is somebody else's.
        """
        for item in self._remaining(iterable, key, of or _identity):
            self._check_lease()
            yield item

    def track(self, iterable: Iterable[Item], total: int | None = None) -> Iterator[Item]:
        """Yield the items and show how many are done, at most once a second; it saves no resume point."""
        if total is None and isinstance(iterable, Sized):
            total = len(iterable)
        shown = float("-inf")
        done = 0
        for item in iterable:
            if time.monotonic() - shown >= 1:
                shown = time.monotonic()
                self.checkpoint(done=done, total=total)
            self._check_lease()
            yield item
            done += 1
        self.checkpoint(done=done, total=total)

    def _remaining(self, iterable: Iterable[Item], key: str, value_of: Callable[[Item], Any]) -> Iterator[Item]:
        if key not in self.progress:
            yield from iterable
            return
        reached = self.progress[key]
        skipped: list[Item] = []
        items = iter(iterable)
        for item in items:
            skipped.append(item)
            if _as_stored(value_of(item)) == reached:
                yield from items
                return
        self.log(f"The checkpointed {key} {reached!r} is not among the items any more.")
        yield from _after(skipped, reached, value_of)

    def _check_lease(self) -> None:
        if not self._signals.leases_hold:
            raise LeaseLost

    def _save(self, progress: str, done: int | None, total: int | None) -> bool:
        with connection.cursor() as cursor:
            cursor.execute(
                "UPDATE scheduler_taskrun SET progress = %s, progress_done = COALESCE(%s, progress_done),"
                " progress_total = COALESCE(%s, progress_total), checkpoint_at = clock_timestamp(),"
                " interruption_count = 0"
                " WHERE id = %s AND lease_token = %s AND state = %s AND cancel_requested_at IS NULL"
                " AND lease_expires_at > clock_timestamp()",
                [progress, done, total, self.run_id, self._token, RunState.RUNNING],
            )
            return bool(cursor.rowcount)

    def _explain_refusal(self) -> NoReturn:
        asked = TaskRun.objects.filter(pk=self.run_id, lease_token=self._token, cancel_requested_at__isnull=False)
        try:
            raise Cancelled if asked.exists() else LeaseLost
        except (DatabaseError, InterfaceError):
            raise LeaseLost from None

    # --- what the world wants of it ------------------------------------------------------------------------------

    @property
    def cancelled(self) -> bool:
        """Whether a person asked to cancel the run, or its lease is gone; asks the database once a second.

        A database that is away is borne for as long as the lease holds.
        """
        if time.monotonic() - self._cancel_checked >= CANCEL_CHECK_SECONDS:
            self._cancel_checked = time.monotonic()
            self._cancel_asked = self._ask_whether_cancelled()
        return self._cancel_asked or not self._signals.leases_hold

    def _ask_whether_cancelled(self) -> bool:
        mine = TaskRun.objects.filter(pk=self.run_id, lease_token=self._token, state=RunState.RUNNING)
        try:
            return not mine.filter(cancel_requested_at__isnull=True).exists()
        except (DatabaseError, InterfaceError) as error:
            if connection.in_atomic_block:
                raise
            logger.warning("run #%s: the database cannot be asked now: %s", self.run_id, type(error).__name__)
            connection.close()
            return False

    @property
    def stopping(self) -> bool:
        """Whether the worker is shutting down: checkpoint soon, or end."""
        return self._signals.stopping

    def raise_if_interrupted(self) -> None:
        """Give way now if somebody wants that; for jobs that wait without anything to checkpoint.

        Raises:
            Cancelled, LeaseLost, Stopping: as `checkpoint` does.
        """
        if self.cancelled:
            self._explain_refusal()
        if self.stopping:
            raise Stopping

    # --- what it spends --------------------------------------------------------------------------------------------

    def charge(
        self, quota: str, amount: int = 1, *, idempotency_key: str | None = None, refund_on_failure: bool = False
    ) -> Charged:
        """Charge the quota before the work that costs so much; if it is used up, the run is paused here, and goes on
        from its checkpoint when the quota is back. Outside of the job's own transactions, or it is undone with them.

        Args:
            quota: its key.
            amount: whole units.
            idempotency_key: names this piece of the run's work, so that it is charged once, in whichever attempt. By
                default each call is charged, as each try costs.
            refund_on_failure: give it back if the attempt ends, other than well, before its next checkpoint: what
                came before a checkpoint was used.

        Raises:
            PauseNeeded: the quota has too little now; let it through.
            NeverSatisfiable: the amount is above the limit; the run fails for good, unless the job asks for less.
            UnknownQuota, BadAmount, Conflict: with a sentence.
        """
        return self.spending.charge(quota, amount, idempotency_key=idempotency_key, refund_on_failure=refund_on_failure)

    def reserve(
        self,
        quota: str,
        amount: int,
        *,
        lease: timedelta = DEFAULT_LEASE,
        idempotency_key: str | None = None,
    ) -> HeldAmount:
        """Hold what a piece of work may cost at the most, to settle by what it really took; else as `charge`.

            with run.reserve("tokens", 4000) as held:
                answer = ask(...)
                held.settle(answer.tokens)

        What the run holds is renewed while its worker lives, and freed when the attempt ends.
        """
        return self.spending.reserve(quota, amount, lease=lease, idempotency_key=idempotency_key)

    # --- what it says ----------------------------------------------------------------------------------------------

    def log(self, text: str) -> None:
        """Add a line to the attempt's output, of which the last 64 KiB are kept."""
        self.output.write(f"{text}\n")

    def request_approval(self, question: str) -> None:
        """Go on only if a person has approved; otherwise ask, and free the worker until there is an answer.

        The run is executed again after the answer, and comes to this point again with its progress: what was approved
        passes. So each approval point of a run needs a question of its own, as “Send 214 invoices of 2026-03-01?”. A
        refusal ends the run.

        Raises:
            AwaitingApproval: there is no answer yet; let it through.
            ValueError: it is no question that can be kept and shown.
        """
        if not question.strip() or "\x00" in question:
            raise ValueError("request_approval(question) takes the question as a text that can be shown.")
        approved = Approval.objects.filter(run=self.run_id, question=question, answer=Approval.Answer.APPROVED)
        if not approved.exists():
            raise AwaitingApproval(question)

    def defer(self, *, until: datetime | None = None, seconds: float | None = None, reason: str) -> NoReturn:
        """Put the run off with its progress; the worker is free meanwhile.

        Args:
            until: the instant (aware) to go on, or
            seconds: the seconds from now, 0 to ten years.
            reason: said on the run page.

        Raises:
            ValueError: not one of the two is given, or it is no instant or span that can be waited for.
        """
        if (until is None) == (seconds is None):
            raise ValueError("defer() takes either until or seconds.")
        if until is not None and until.tzinfo is None:
            raise ValueError("defer(until=…) takes an instant with a time zone.")
        if seconds is not None and not 0 <= seconds <= LONGEST_DEFERRAL_SECONDS:
            raise ValueError("defer(seconds=…) takes the seconds from now, 0 to ten years.")
        raise Deferred(reason, until=until, seconds=seconds)


def _identity(item: Any) -> Any:
    return getattr(item, "pk", getattr(item, "id", item))


def _as_stored(value: Any) -> Any:
    """Return the value as it comes back from the checkpoint's JSON."""
    return json.loads(json.dumps(value, cls=DjangoJSONEncoder))


def _after(items: list[Item], reached: Any, value_of: Callable[[Item], Any]) -> Iterator[Item]:
    """Yield what comes after the place at which `reached` would stand in a sorted series; else everything."""
    values = [_as_stored(value_of(item)) for item in items]
    try:
        rising = values == sorted(values)
        sorted_at_all = rising or values == sorted(values, reverse=True)
        behind = [not sorted_at_all or (value > reached if rising else value < reached) for value in values]
    except TypeError:  # values without an order
        behind = [True] * len(items)
    yield from itertools.compress(items, behind)

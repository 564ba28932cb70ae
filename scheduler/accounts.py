"""What an ended attempt leaves with the quotas: what it still holds is freed, and what it was charged for and did not
use is given back. Called in the transaction that ends the attempt.

Quotas are locked before runs, everywhere: whoever resumes holds the quotas and then takes the runs.
"""

from collections.abc import Collection, Iterable, Sequence
from datetime import datetime

from quotas import charging, reserving
from quotas.models import LedgerEntry, Quota, Reservation
from quotas.states import ReservationState
from scheduler.models import QuotaWait, TaskRun
from scheduler.states import RunState
from scheduler.waits import chains_of, owner_of


def lock(run_ids: Collection[int], quota_ids: Iterable[int] = ()) -> None:
    """Lock the quotas that the runs have to do with, and these, before anything else of the transaction.

    What a run comes to have to do with between this and `close` is found there, only later than would be in order.
    """
    owners = [owner_of(run_id) for run_id in run_ids]
    held = Reservation.objects.filter(owner__in=owners, state=ReservationState.HELD)
    refundable = LedgerEntry.objects.filter(owner__in=owners, refund_on_failure=True)
    waits = QuotaWait.objects.filter(run__in=run_ids)
    known = (rows.order_by().values_list("quota", flat=True) for rows in (held, refundable, waits))
    touched = {*quota_ids, *next(known).union(*known)}
    if touched:
        links = {link for chain in chains_of(touched).values() for link in chain}
        list(Quota.objects.filter(pk__in=links).order_by("pk").select_for_update().values_list("pk"))


def close(runs: Sequence[TaskRun], *, used: bool, now: datetime) -> None:
    """Close the accounts of the runs' latest attempts.

    Args:
        used: the attempts did what they were charged for. If not, what they were charged with `refund_on_failure`
            since their last checkpoint is given back.
    """
    run_ids = [run.pk for run in runs]
    release(run_ids, now=now)
    if not used and run_ids:
        attempts = TaskRun.objects.filter(pk__in=run_ids).values_list("pk", "attempt_count", "checkpoint_at")
        charging.refund_unused([(owner_of(pk), attempt, checkpoint) for pk, attempt, checkpoint in attempts], now=now)


def abandon(run_ids: Collection[int], *, now: datetime) -> None:
    """Free what is held for cancelled runs, and let the fallback poll look soon at the quotas that they waited for:
    what was kept for them is there for others, and no edge tells that.
    """
    waited_for = QuotaWait.objects.filter(run__in=run_ids).values_list("quota", flat=True)
    links = {link for chain in chains_of(waited_for).values() for link in chain}
    Quota.objects.filter(pk__in=links, next_check_at__gt=now).update(next_check_at=now)
    release(run_ids, now=now)


def release(run_ids: Collection[int], *, now: datetime) -> None:
    """Free what is held for the runs, and forget what they waited for, unless they still do."""
    reserving.release_all_of([owner_of(run_id) for run_id in run_ids], now=now)
    stale = QuotaWait.objects.filter(run__in=run_ids).exclude(run__state__in=[RunState.PAUSED, RunState.RESUMING])
    stale.delete()

"""What an ended attempt leaves with the quotas: what it still holds is freed, and what it was charged for and did not
use is given back. Called in the transaction that ends the attempt.
"""

from collections.abc import Collection, Sequence
from datetime import datetime

from quotas import charging, reserving
from scheduler.models import QuotaWait, TaskRun
from scheduler.states import RunState
from scheduler.waits import owner_of


def close(runs: Sequence[TaskRun], *, used: bool, now: datetime) -> None:
    """Close the accounts of the runs' latest attempts.

    Args:
        used: the attempts did what they were charged for. If not, what they were charged with `refund_on_failure`
            since their last checkpoint is given back.
    """
    run_ids = [run.pk for run in runs]
    release(run_ids, now=now)
    if not used:
        attempts = TaskRun.objects.filter(pk__in=run_ids).values_list("pk", "attempt_count", "checkpoint_at")
        charging.refund_unused([(owner_of(pk), attempt, checkpoint) for pk, attempt, checkpoint in attempts], now=now)


def release(run_ids: Collection[int], *, now: datetime) -> None:
    """Free what is held for the runs, and forget what they waited for, unless they still do."""
    reserving.release_all_of([owner_of(run_id) for run_id in run_ids], now=now)
    stale = QuotaWait.objects.filter(run__in=run_ids).exclude(run__state__in=[RunState.PAUSED, RunState.RESUMING])
    stale.delete()

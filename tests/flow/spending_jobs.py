"""Jobs that spend, loaded by TIDELINE_JOBS."""

from typing import Any

from scheduler.jobs import RunContext, job
from tests.demo_jobs import Items, hold, mark


class SpendingItems(Items):
    """Of which quota each item takes one unit; and in which attempt it waits at `hold_at` for what is done to it."""

    of: str
    hold_in_attempt: int = 1


@job("test.spends", params=SpendingItems)
def spends(run: RunContext) -> dict[str, Any]:
    """Take the items one by one: each is charged once, in whichever attempt, done, and checkpointed."""
    for item in run.resume(range(1, run.params.items + 1), key="item"):
        run.charge(run.params.of, idempotency_key=f"item {item}")
        if item == run.params.hold_at and run.attempt == run.params.hold_in_attempt:
            hold(run)
        mark(run, item=item)
        run.checkpoint(item=item, done=item, total=run.params.items)
        mark(run, saved=item)
    return {"items": run.params.items}

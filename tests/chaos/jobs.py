"""A job that asks for approval, loaded by TIDELINE_JOBS beside those of the other tests."""

from typing import Any

from scheduler.jobs import RunContext, job
from tests.demo_jobs import Items, mark


class AskingItems(Items):
    """Before which item a person is asked."""

    ask_before: int


@job("test.asks", params=AskingItems)
def asks(run: RunContext) -> dict[str, Any]:
    """Take the items one by one; amid them, go on only when a person has approved."""
    for item in run.resume(range(1, run.params.items + 1), key="item"):
        if item == run.params.ask_before:
            run.request_approval(f"Take item {item} of run {run.run_id}?")
        mark(run, item=item)
        run.checkpoint(item=item, done=item, total=run.params.items)
        mark(run, saved=item)
    return {"items": run.params.items}

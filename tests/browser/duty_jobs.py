"""Jobs that need a person, loaded by TIDELINE_JOBS."""

from pathlib import Path

from scheduler.jobs import RunContext, job
from tests.demo_jobs import Items, Marks, mark


class Upstream(Marks):
    """Where it is written that the upstream is away."""

    away: str


@job("test.books", params=Upstream)
def books(run: RunContext) -> None:
    """Book three batches; after the first one the upstream may be away."""
    for batch in run.resume((1, 2, 3), key="batch"):
        if batch > 1 and Path(run.params.away).exists():
            raise ConnectionResetError("the bank cut the connection")
        mark(run, item=batch)
        run.log(f"batch {batch} booked")
        run.checkpoint(batch=batch, done=batch, total=3)


@job("test.asks", params=Items)
def asks(run: RunContext) -> None:
    """Send something once a person has agreed."""
    run.request_approval(f"Send {run.params.items} invoices?")
    mark(run, item=run.params.items)

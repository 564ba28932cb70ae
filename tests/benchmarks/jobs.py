"""Jobs that do nothing, so that what is measured is the cost of running them."""

from scheduler.jobs import RunContext, job


@job("benchmark.noop")
def noop(run: RunContext) -> None:
    """Do nothing."""


@job("benchmark.short_noop", short=True)
def short_noop(run: RunContext) -> None:
    """Do nothing, and say so beforehand: several runs share one hint."""


@job("benchmark.spend")
def spend(run: RunContext) -> None:
    """Charge one unit of the quota, and do nothing for it."""
    run.charge(run.params["quota"])

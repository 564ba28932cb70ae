"""Jobs that call a provider, loaded by TIDELINE_JOBS."""

import asyncio
from typing import Any

import httpx
from pydantic import BaseModel

from quotas.guarding import quota_guard
from scheduler.jobs import RunContext, job


class Calls(BaseModel):
    """Whom to call how often, and by which quota."""

    url: str
    quota: str
    calls: int = 1


@job("test.guarded", params=Calls)
def guarded(run: RunContext) -> dict[str, Any]:
    """Call the provider, call by call."""
    with quota_guard(httpx.Client(), run.params.quota) as client:
        for call in run.resume(range(1, run.params.calls + 1), key="call"):
            client.get(run.params.url).raise_for_status()
            run.checkpoint(call=call)
    return {"calls": run.params.calls}


@job("test.guarded_async", params=Calls)
def guarded_async(run: RunContext) -> dict[str, Any]:
    """Call the provider once, by an asynchronous client."""

    async def call() -> None:
        async with quota_guard(httpx.AsyncClient(), run.params.quota) as client:
            (await client.get(run.params.url)).raise_for_status()

    asyncio.run(call())
    return {"calls": 1}


@job("test.charged", params=Calls)
def charged(run: RunContext) -> dict[str, Any]:
    """Charge the quota, and then call the provider."""
    run.charge(run.params.quota, 1)
    httpx.get(run.params.url).raise_for_status()
    return {"calls": 1}

"""A Celery task of this worker, executed in this process under the run's lease.

Celery's own tracer calls it, so that its request, its hooks and its signals are as ever. Only a retry is not sent to
the broker: it becomes a run that is put off, with the number of retries in its progress.
"""

import difflib
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from datetime import datetime
from typing import Any, NoReturn, Self

from celery import Task, current_app, states
from celery.app.trace import build_tracer
from celery.exceptions import Reject
from celery.utils.nodenames import gethostname

from scheduler.jobs.capturing import captured
from scheduler.jobs.context import RunContext
from scheduler.jobs.interrupts import JobFailed, Stopping

# When a task rejects its message to have it delivered again.
REQUEUE_SECONDS = 10.0


def execute(context: RunContext) -> Any:
    """Execute the task and return what it returned.

    Raises:
        Deferred: it asked to be retried or requeued.
        JobFailed: it failed, or is not registered here.
    """
    task = _registered(context.params.task)
    call = Call.of(context)
    with captured(context), _retries_held_back(task) as retry:
        trace = build_tracer(task.name, task, app=task.app)
        traced = trace(context.key, call.args, call.kwargs, _request(context, call))
    return _judge(context, task, traced, retry)


@dataclass(frozen=True, slots=True)
class Call:
    """What the task is called with this time; a retry may have changed it."""

    args: list[Any]
    kwargs: dict[str, Any]
    retries: int = 0

    @classmethod
    def of(cls, context: RunContext) -> Self:
        """Return the call that the last retry asked for, or else the parameters'."""
        kept = context.progress.get("celery") or {}
        return cls(
            kept.get("args", context.params.args), kept.get("kwargs", context.params.kwargs), kept.get("retries", 0)
        )


class HeldBackRetry:
    """Stands for the message that `Task.retry` would send, and keeps what it says."""

    asked = False
    args: Any
    kwargs: Any
    retries: int
    eta: datetime | None
    countdown: float | None

    def signature_from_request(
        self,
        request: Any,
        args: Any = None,
        kwargs: Any = None,
        *,
        retries: int = 0,
        eta: datetime | None = None,
        countdown: float | None = None,
        **options: Any,
    ) -> Self:
        """Take the place of Task.signature_from_request."""
        self.args = request.args if args is None else args
        self.kwargs = request.kwargs if kwargs is None else kwargs
        self.retries, self.eta, self.countdown = retries, eta, countdown
        return self

    def apply_async(self) -> None:
        """Take note instead of sending."""
        self.asked = True


@contextmanager
def _retries_held_back(task: Task) -> Iterator[HeldBackRetry]:
    """Keep the task's retries from the broker meanwhile.

    On the registered instance, because `autoretry_for` has closed over it; a prefork child executes one at a time.
    """
    retry = HeldBackRetry()
    task.signature_from_request = retry.signature_from_request
    try:
        yield retry
    finally:
        del task.signature_from_request


def _registered(name: str) -> Task:
    if name not in current_app.tasks:
        current_app.loader.import_default_modules()
    if name in current_app.tasks:
        return current_app.tasks[name]
    known = [known for known in current_app.tasks if not known.startswith("celery.")]
    close = difflib.get_close_matches(name, known, n=3, cutoff=0.5)
    hint = f" Did you mean {' or '.join(f'“{match}”' for match in close)}?" if close else ""
    raise JobFailed(
        f"No task “{name}” is registered in this worker.{hint} TIDELINE_APPS adds applications to it;"
        " a task of another Celery application needs that one's broker_url."
    )


def _request(context: RunContext, call: Call) -> dict[str, Any]:
    return {
        "id": context.key,
        "root_id": context.key,
        "correlation_id": context.key,
        "task": context.params.task,
        "retries": call.retries,
        "hostname": gethostname(),
        "delivery_info": {"exchange": "", "routing_key": "", "redelivered": context.attempt > 1},
        "timelimit": [None, None],
        "is_eager": False,
        "ignore_result": True,  # the run keeps it
    }


def _judge(context: RunContext, task: Task, traced: Any, retry: HeldBackRetry) -> Any:
    state = traced.info.state if traced.info else states.SUCCESS
    if retry.asked and state != states.FAILURE:
        _put_off(context, task, traced, retry)
    if state == states.SUCCESS:
        return traced.retval
    reason = traced.info.retval
    if state == states.REJECTED:
        _reject(context, reason)
    if state == states.IGNORED:
        context.log(f"[the task ignored its result{_because(reason)}]")
        return None
    raise JobFailed(_named(reason), traceback=str(traced.retval.traceback))


def _put_off(context: RunContext, task: Task, traced: Any, retry: HeldBackRetry) -> NoReturn:
    call = {"retries": retry.retries, "args": list(retry.args or ()), "kwargs": dict(retry.kwargs or {})}
    with suppress(Stopping):  # it ends here anyway, and keeps its delay
        context.checkpoint(celery=call)
    limit = "" if task.max_retries is None else f" of {task.max_retries}"
    cause = getattr(traced.info and traced.info.retval, "exc", None)
    reason = f"The task asked to be retried ({retry.retries}{limit}){_because(cause)}."
    if retry.eta is not None:
        aware = retry.eta if retry.eta.tzinfo else retry.eta.replace(tzinfo=task.app.timezone)
        context.defer(until=aware, reason=reason)
    context.defer(seconds=max(0.0, retry.countdown or 0.0), reason=reason)


def _reject(context: RunContext, rejection: Reject) -> NoReturn:
    because = _because(rejection.reason)
    if rejection.requeue:
        context.defer(seconds=REQUEUE_SECONDS, reason=f"The task asked to be delivered again{because}.")
    raise JobFailed(f"The task rejected its message{because}.")


def _because(reason: Any) -> str:
    if not reason:
        return ""
    return f": {_named(reason) if isinstance(reason, BaseException) else reason}"


def _named(error: BaseException) -> str:
    return f"{type(error).__name__}: {error}".removesuffix(": ")

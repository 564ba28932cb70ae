"""A Celery task of another application: sent by name to its broker, and followed through its result backend.

Its id is checkpointed before it is sent, so that a run which goes on elsewhere follows it instead of sending it again.
"""

import time
from contextlib import suppress
from dataclasses import asdict, dataclass, replace
from datetime import datetime, timedelta
from typing import Any, NoReturn, Self
from uuid import uuid4

from celery import states

from project.kit.clock import database_now
from scheduler.jobs.celery_application import OtherApplication, Unusable
from scheduler.jobs.context import RunContext
from scheduler.jobs.interrupts import Cancelled, JobFailed, Stopping, TimedOut

# How long a worker waits for the result before it is free for other runs.
SLOT_SECONDS = 20.0
SHORTEST_PAUSE, LONGEST_PAUSE = 0.25, 1.0
SHORTEST_DELAY, LONGEST_DELAY = 10.0, 60.0


def execute(context: RunContext) -> Any:
    """Send the task unless it was sent, follow it, and return its result.

    Raises:
        Deferred: it has not ended yet; the next attempt goes on following it.
        JobFailed: it failed, was revoked or did not end in time, or its application cannot be reached.
    """
    other = OtherApplication(context.params)
    try:
        sent = _send_once(context, other)
        if not other.can_be_followed:
            context.log("[there is no result backend: how the task ends is not known here]")
            return {"task_id": sent.task_id, "followed": False}
        return _follow(context, other, sent)
    except (Cancelled, TimedOut) as interruption:
        _call_back(context, other, interruption)
        raise


@dataclass(frozen=True, slots=True)
class Sent:
    """The task as the checkpoint knows it.

    Attributes:
        run_id: whose it is; a copy of the progress in another run is not.
        sent_at: when the broker had it; None as long as nobody is sure.
        looks: how many attempts have waited for it.
    """

    run_id: int
    task_id: str
    sent_at: str | None = None
    looks: int = 0

    @classmethod
    def of(cls, context: RunContext) -> Self | None:
        """Return what an earlier attempt of this run has sent, or was about to."""
        kept = context.progress.get("celery")
        return cls(**kept) if kept and kept.get("run_id") == context.run_id else None

    def since(self) -> datetime:
        """Return when it was sent."""
        return datetime.fromisoformat(str(self.sent_at))


def _send_once(context: RunContext, other: OtherApplication) -> Sent:
    context.raise_if_interrupted()
    sent = Sent.of(context)
    if sent is None:
        sent = Sent(context.run_id, str(uuid4()))
        other.ask(sent.task_id)  # a backend that cannot be asked is a failure before anything was sent
        _save(context, sent)
    if sent.sent_at is None:
        if other.ask(sent.task_id)["status"] == states.PENDING:
            other.send(sent.task_id)
            context.log(f"Sent {context.params.task} as {sent.task_id}.")
        sent = replace(sent, sent_at=database_now().isoformat())
        _save(context, sent)
    return sent


def _follow(context: RunContext, other: OtherApplication, sent: Sent) -> Any:
    until = time.monotonic() + SLOT_SECONDS
    pause = SHORTEST_PAUSE
    while True:
        answer = other.ask_again(sent.task_id)
        if answer["status"] in states.READY_STATES:
            return _judge(context, answer)
        context.raise_if_interrupted()
        if database_now() - sent.since() > timedelta(seconds=context.params.timeout_seconds):
            _give_up(context, other, sent)
        if time.monotonic() >= until:
            _look_later(context, sent, answer)
        time.sleep(pause)
        pause = min(pause * 1.5, LONGEST_PAUSE)


def _judge(context: RunContext, answer: dict[str, Any]) -> Any:
    if answer["status"] == states.SUCCESS:
        return answer["result"]
    _forget(context)
    if answer["status"] == states.REVOKED:
        raise JobFailed("The task was revoked in its application.")
    error = answer["result"]
    name = type(error).__name__ if isinstance(error, BaseException) else "Failure"
    raise JobFailed(f"{name}: {error}", traceback=str(answer.get("traceback") or ""))


def _look_later(context: RunContext, sent: Sent, answer: dict[str, Any]) -> NoReturn:
    delay = min(SHORTEST_DELAY * 2**sent.looks, LONGEST_DELAY)
    _save(context, replace(sent, looks=min(sent.looks + 1, 10)))
    context.defer(
        seconds=delay, reason=f"The task is {answer['status']} in its application; asked again in {delay:g} s."
    )


def _give_up(context: RunContext, other: OtherApplication, sent: Sent) -> NoReturn:
    _revoke(context, other, sent)
    _forget(context)
    raise JobFailed(f"The task did not end within {context.params.timeout_seconds} s and was revoked.")


def _call_back(context: RunContext, other: OtherApplication, interruption: Cancelled | TimedOut) -> None:
    sent = Sent.of(context)
    if sent is None:
        return
    _revoke(context, other, sent)
    if isinstance(interruption, TimedOut):
        _forget(context)


def _revoke(context: RunContext, other: OtherApplication, sent: Sent) -> None:
    try:
        other.revoke(sent.task_id)
    except Unusable as failure:
        context.log(f"[the task could not be revoked: {failure}]")
    else:
        context.log(f"[asked the workers of its application to revoke {sent.task_id}]")


def _save(context: RunContext, sent: Sent) -> None:
    context.checkpoint(celery=asdict(sent))


def _forget(context: RunContext) -> None:
    """Let a retry of the run send a new task. The run has failed, also where its worker is stopping."""
    with suppress(Stopping):
        context.checkpoint(celery=None)

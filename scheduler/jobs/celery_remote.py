"""A Celery task of another application: sent by name to its broker, and followed through its result backend.

Its id is checkpointed before it is sent, so that a run which goes on elsewhere follows it instead of sending it again.
"""

import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import asdict, dataclass, replace
from datetime import datetime, timedelta
from typing import Any, NoReturn, Self
from urllib.parse import unquote, urlsplit
from uuid import uuid4

from celery import Celery, states
from celery.exceptions import SecurityError
from kombu.connection import Connection
from kombu.exceptions import ContentDisallowed, DecodeError
from kombu.pidbox import Mailbox

from project.kit.clock import database_now
from scheduler.jobs.context import RunContext
from scheduler.jobs.interrupts import Cancelled, JobFailed, Stopping, TimedOut

# How long a worker waits for the result before it is free for other runs.
SLOT_SECONDS = 20.0
SHORTEST_PAUSE, LONGEST_PAUSE = 0.25, 1.0
SHORTEST_DELAY, LONGEST_DELAY = 10.0, 60.0

REDIS_OPTIONS = {"socket_timeout": 5, "socket_connect_timeout": 3}
TRANSPORT_OPTIONS: dict[str, dict[str, Any]] = {
    "redis": REDIS_OPTIONS,
    "rediss": REDIS_OPTIONS,
    "sentinel": REDIS_OPTIONS,
    "amqp": {"confirm_publish": True, "read_timeout": 10, "write_timeout": 10},
    "amqps": {"confirm_publish": True, "read_timeout": 10, "write_timeout": 10},
}
UNREADABLE = (ContentDisallowed, DecodeError, SecurityError)


class Unusable(JobFailed):
    """The other application's broker or result backend does not answer, or not as it should."""


def execute(context: RunContext) -> Any:
    """Send the task unless it was sent, follow it, and return its result.

    Raises:
        Deferred: it has not ended yet; the next attempt goes on following it.
        JobFailed: it failed, was revoked or did not end in time, or its application cannot be reached.
    """
    other = OtherApplication(context)
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


def _send_once(context: RunContext, other: "OtherApplication") -> Sent:
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


def _follow(context: RunContext, other: "OtherApplication", sent: Sent) -> Any:
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


def _give_up(context: RunContext, other: "OtherApplication", sent: Sent) -> NoReturn:
    _revoke(context, other, sent)
    _forget(context)
    raise JobFailed(f"The task did not end within {context.params.timeout_seconds} s and was revoked.")


def _call_back(context: RunContext, other: "OtherApplication", interruption: Cancelled | TimedOut) -> None:
    sent = Sent.of(context)
    if sent is None:
        return
    _revoke(context, other, sent)
    if isinstance(interruption, TimedOut):
        _forget(context)


def _revoke(context: RunContext, other: "OtherApplication", sent: Sent) -> None:
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


class OtherApplication:
    """The other Celery application: its broker and its result backend. Each call opens and closes its connections."""

    def __init__(self, context: RunContext) -> None:
        self._context = context
        self._params = context.params
        self._broker_url: str = context.params.broker_url.get_secret_value()
        backend = context.params.result_backend
        self._backend_url: str | None = backend.get_secret_value() if backend else None

    @property
    def can_be_followed(self) -> bool:
        """Whether it is known where its results are."""
        return self._backend_url is not None

    def send(self, task_id: str) -> None:
        """Give the task to the broker.

        Raises:
            Unusable: the broker does not take it.
        """
        params = self._params
        route = {name: getattr(params, name) for name in ("queue", "exchange", "routing_key", "priority")}
        route = {name: value for name, value in route.items() if value is not None}
        if params.exchange is not None:
            route["declare"] = []  # else Celery would make its default queue there
        with self._broker() as (app, connection):
            app.send_task(
                params.task,
                params.args,
                params.kwargs,
                task_id=task_id,
                root_id=task_id,
                expires=params.expires_seconds,
                producer=app.amqp.Producer(connection, auto_declare=False),
                retry=False,
                add_to_parent=False,
                **route,
            )

    def revoke(self, task_id: str) -> None:
        """Tell the workers that are up now to drop the task.

        Raises:
            Unusable: the broker cannot be reached.
        """
        order = {"task_id": task_id, "terminate": self._params.terminate, "signal": "SIGTERM"}
        with self._broker() as (_, connection):
            # What Celery's `control.revoke` says, but by this connection and not by one from a pool that would stay.
            mailbox = Mailbox("celery", type="fanout", connection=connection, accept=["json"], serializer="json")
            mailbox.abcast("revoke", order)

    def ask(self, task_id: str) -> dict[str, Any]:
        """Return what the result backend knows; a task of which it does not is PENDING.

        Raises:
            Unusable: it cannot be asked.
            JobFailed: it holds something that is not read here.
        """
        if self._backend_url is None:
            return {"status": states.PENDING}
        try:
            with self._backend(self._backend_url) as backend:
                meta: dict[str, Any] = backend.get_task_meta(task_id, cache=False)
                return meta
        except UNREADABLE as error:
            raise JobFailed(f"The task's result cannot be read ({type(error).__name__}): it is not JSON.") from None
        except Exception as error:
            raise Unusable(
                f"The result backend of the other application cannot be used: {self._reason(error)}"
            ) from None

    def ask_again(self, task_id: str) -> dict[str, Any]:
        """Ask about a task that was sent. A backend that is away now is borne: the task goes on without it."""
        try:
            return self.ask(task_id)
        except Unusable as failure:
            return {"status": f"unknown ({failure})"}

    @contextmanager
    def _broker(self) -> Iterator[tuple[Celery, Connection]]:
        try:
            with self._application(None) as app, app.connection_for_write(url=self._broker_url) as connection:
                connection.ensure_connection(max_retries=1, interval_start=0.2)
                yield app, connection
        except Exception as error:
            raise Unusable(f"The broker of the other application cannot be used: {self._reason(error)}") from None

    @contextmanager
    def _backend(self, url: str) -> Iterator[Any]:
        with self._application(url) as app:
            backend = app.backend
            try:
                yield backend
            finally:
                if "client" in vars(backend):  # the Redis backend keeps its connections otherwise
                    backend.client.connection_pool.disconnect()

    def _application(self, backend_url: str | None) -> Celery:
        # Without fixups: those of Django would tie this application to our connections.
        app = Celery("elsewhere", backend=backend_url or "disabled://", set_as_current=False, fixups=set())
        scheme = urlsplit(self._broker_url).scheme.partition("+")[0]
        app.conf.update(
            broker_connection_timeout=4,
            broker_transport_options={**TRANSPORT_OPTIONS.get(scheme, {}), **self._params.transport_options},
            result_backend_transport_options=self._params.result_backend_options,
            redis_socket_timeout=5,
            redis_socket_connect_timeout=3,
            accept_content=["json"],
            result_accept_content=["json"],
        )
        return app

    def _reason(self, error: Exception) -> str:
        """Return what went wrong, without what the URLs keep secret."""
        text = " ".join(str(error).split()) or type(error).__name__
        for url in filter(None, (self._broker_url, self._backend_url)):
            for secret in _secrets(url):
                text = text.replace(secret, "•••")
        return text if text.endswith(".") else f"{text}."


def _secrets(url: str) -> list[str]:
    """Return the URL itself and its credentials, the longest first."""
    user, _, _ = urlsplit(url).netloc.rpartition("@")
    password = user.partition(":")[2]
    query = urlsplit(url).query
    return sorted(filter(None, {url, user, password, unquote(password), query}), key=len, reverse=True)

"""Another Celery application, as far as a task of it has to be sent, asked about and revoked."""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any
from urllib.parse import unquote, urlsplit

from celery import Celery, states
from celery.exceptions import SecurityError
from kombu.connection import Connection
from kombu.exceptions import ContentDisallowed, DecodeError
from kombu.pidbox import Mailbox

from scheduler.jobs.celery_task import CeleryParams
from scheduler.jobs.interrupts import JobFailed

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


class OtherApplication:
    """The other application: its broker and its result backend. Each call opens and closes its connections."""

    def __init__(self, params: CeleryParams) -> None:
        self._params = params
        self._broker_url = params.broker_url.get_secret_value() if params.broker_url else ""
        self._backend_url = params.result_backend.get_secret_value() if params.result_backend else None

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

"""An httpx client that listens: each answer's headers reach the quota, and a refusal pauses the job by itself."""

import asyncio
import logging
from typing import TypeVar

import httpx
from django.db import DatabaseError, InterfaceError, connection

from project.kit.clock import database_now, elapsed
from quotas import observing
from quotas.provider.bodies import MOST_BYTES
from quotas.provider.headers import MAY_REFUSE, REFUSES
from quotas.refusals import PauseNeeded, Refused

logger = logging.getLogger(__name__)

# A process hears healthy answers about one quota at most so often; each that it hears costs two reads.
BETWEEN_HEALTHY_ANSWERS = 1.0

Client = TypeVar("Client", httpx.Client, httpx.AsyncClient)

_heard_at: dict[str, float] = {}


def quota_guard(client: Client, key: str, *, window: str = "") -> Client:
    """Let the client tell the quota what each answer says about the limit, and return the client.

    An answer that refuses because the limit is reached (429; 403 and 503 if they say so) raises `PauseNeeded`, which
    pauses the run until the provider's window opens; in shadow mode it is only noted. Healthy answers cost next to
    nothing. Use it outside of transactions: what is noted within one is lost with it.

    Args:
        client: a Client, or an AsyncClient of an asyncio loop.
        key: the quota's. An unknown one raises `UnknownQuota` with the first answer.
        window: which of several windows the quota counts, where the provider counts requests and tokens apart, for
            example "tokens"; empty: the tightest.
    """
    guard = _Guard(key, window)
    hook = guard.hear_async if isinstance(client, httpx.AsyncClient) else guard.hear
    # before hooks of the job's own, which may raise for the status
    client.event_hooks["response"].insert(0, hook)
    return client


class _Guard:
    """Hears the answers about one quota."""

    def __init__(self, key: str, window: str) -> None:
        self._key, self._window = key, window

    def hear(self, response: httpx.Response) -> None:
        if not self._is_worth_hearing(response):
            return
        body = response.read() if _says_more_in_its_body(response) else b""
        _pause_for(self._note(response, body))

    async def hear_async(self, response: httpx.Response) -> None:
        if not self._is_worth_hearing(response):
            return
        body = await response.aread() if _says_more_in_its_body(response) else b""
        # Django keeps its connection out of the loop's thread.
        _pause_for(await asyncio.to_thread(self._note_in_a_thread, response, body))

    def _is_worth_hearing(self, response: httpx.Response) -> bool:
        """Return whether it may refuse, or nothing was heard for a while."""
        if response.status_code in MAY_REFUSE:
            return True
        now = elapsed()
        if now - _heard_at.get(self._key, -BETWEEN_HEALTHY_ANSWERS) < BETWEEN_HEALTHY_ANSWERS:
            return False
        _heard_at[self._key] = now
        return True

    def _note(self, response: httpx.Response, body: bytes) -> Refused | None:
        """Note what the answer says; of one that refuses nothing, amid the job's transaction or without a database,
        that is left to a later one.
        """
        if response.status_code not in MAY_REFUSE and connection.in_atomic_block:
            return None  # the quota's row would stay locked until the transaction ends
        try:
            now = database_now()
            said = observing.understand(
                response.headers, status=response.status_code, body=body, window=self._window, now=now
            )
            return observing.record(self._key, said)
        except (DatabaseError, InterfaceError) as error:
            if response.status_code in MAY_REFUSE:
                raise
            logger.warning("what the provider of quota %r says cannot be noted: %s", self._key, type(error).__name__)
            return None

    def _note_in_a_thread(self, response: httpx.Response, body: bytes) -> Refused | None:
        try:
            return self._note(response, body)
        finally:
            connection.close()


def _says_more_in_its_body(response: httpx.Response) -> bool:
    """Return whether it refuses with a body that is no longer than one that says when to come back."""
    stated = response.headers.get("content-length", "0")
    return response.status_code == REFUSES and stated.isdecimal() and int(stated) <= MOST_BYTES


def _pause_for(refusal: Refused | None) -> None:
    if refusal is not None:
        raise PauseNeeded(refusal)

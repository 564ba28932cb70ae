"""One HTTP request and its answer, in a thread of its own: it ends within its time whatever the server does, and
whoever waits for it can turn away.
"""

import asyncio
import threading
import time
from collections.abc import Mapping
from concurrent.futures import Future
from concurrent.futures import wait as wait_for
from contextlib import suppress
from dataclasses import dataclass, field

import httpx

MOST_REDIRECTS = 5
# How long a cancelled request may take to close its connection.
FAREWELL_SECONDS = 1.0


@dataclass(frozen=True, slots=True)
class Request:
    """What to ask.

    Attributes:
        timeout_seconds: for each phase and for all of them together.
        most_bytes: of the answer's body that are read.
    """

    method: str
    url: str
    headers: Mapping[str, str] = field(default_factory=dict)
    body: bytes | None = None
    timeout_seconds: float = 30.0
    follow_redirects: bool = False
    most_bytes: int = 64 * 1024


@dataclass(frozen=True, slots=True)
class Answer:
    """What came back.

    Attributes:
        seconds: from the first attempt to connect to the last byte that was read.
        cut: there was more than `body`.
    """

    status: int
    reason: str
    headers: httpx.Headers
    encoding: str
    body: bytes
    cut: bool
    seconds: float


class Exchange:
    """A request under way."""

    def __init__(self, request: Request) -> None:
        self._request = request
        self._answer: Future[Answer] = Future()
        self._loop = asyncio.new_event_loop()
        self._task: asyncio.Task[Answer] | None = None
        self._abandoned = False
        self._thread = threading.Thread(target=self._work, name="http request", daemon=True)
        self._thread.start()

    def wait(self, seconds: float) -> Answer | None:
        """Return the answer, or None if it is not there after so many seconds.

        Raises:
            TimeoutError: the request's time is over.
            httpx.HTTPError, httpx.InvalidURL: it failed.
        """
        done, _ = wait_for([self._answer], timeout=seconds)
        return self._answer.result() if done else None

    def abandon(self) -> None:
        """Close the connection, if the exchange is not over."""
        self._abandoned = True
        if not self._answer.done():
            with suppress(RuntimeError):  # the loop was closed meanwhile: it is over
                self._loop.call_soon_threadsafe(self._cancel)
        self._thread.join(FAREWELL_SECONDS)

    def _cancel(self) -> None:
        if self._task is not None:
            self._task.cancel()

    def _work(self) -> None:
        try:
            with asyncio.Runner(loop_factory=lambda: self._loop) as runner:
                self._answer.set_result(runner.run(self._exchange()))
        except BaseException as error:  # it is raised again where somebody waits
            self._answer.set_exception(error)

    async def _exchange(self) -> Answer:
        self._task = asyncio.current_task()
        if self._abandoned:
            raise asyncio.CancelledError
        async with asyncio.timeout(self._request.timeout_seconds):
            return await _perform(self._request)


async def _perform(request: Request) -> Answer:
    began = time.monotonic()
    async with httpx.AsyncClient(timeout=request.timeout_seconds) as client:
        asked = client.build_request(request.method, request.url, headers=dict(request.headers), content=request.body)
        for _ in range(MOST_REDIRECTS + 1):
            response = await client.send(asked, stream=True)
            try:
                if not request.follow_redirects or response.next_request is None:
                    return await _read(response, request.most_bytes, began)
                asked = _without_our_headers(response.next_request, asked, request)
            finally:
                await response.aclose()
    raise httpx.TooManyRedirects(f"more than {MOST_REDIRECTS} redirects")


def _without_our_headers(following: httpx.Request, before: httpx.Request, request: Request) -> httpx.Request:
    """Return the redirected request; what we were told to send to one server is not for another."""
    if _origin(following.url) != _origin(before.url):
        for name in request.headers:
            following.headers.pop(name, None)
    return following


def _origin(url: httpx.URL) -> tuple[str, str, int | None]:
    return url.scheme, url.host, url.port


async def _read(response: httpx.Response, most_bytes: int, began: float) -> Answer:
    body = b""
    async for chunk in response.aiter_bytes():
        body += chunk
        if len(body) > most_bytes:
            break
    return Answer(
        status=response.status_code,
        reason=response.reason_phrase,
        headers=response.headers,
        encoding=response.encoding or "utf-8",
        body=body[:most_bytes],
        cut=len(body) > most_bytes,
        seconds=time.monotonic() - began,
    )

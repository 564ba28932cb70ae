"""Asks a provider's usage endpoint what is left. Network I/O: never within a transaction."""

import asyncio
import json
import threading
from collections.abc import Callable
from concurrent.futures import Future
from dataclasses import dataclass, replace
from datetime import datetime
from http import HTTPStatus
from typing import Any

import httpx
import jmespath
from jmespath.exceptions import JMESPathError

from project.kit.reasons import innermost_reason
from quotas.provider.headers import read_headers
from quotas.provider.observation import Doubts, Observation
from quotas.provider.probes import ProbeSpec
from quotas.provider.reading import Reader
from quotas.provider.values import as_text

MOST_BYTES = 1024 * 1024
# How long after its time an exchange may take to close its connection.
FAREWELL_SECONDS = 1.0


@dataclass(frozen=True, slots=True)
class ProbeFailed:
    """The probe learned nothing.

    Attributes:
        sentence: why, without secrets.
    """

    sentence: str


@dataclass(frozen=True, slots=True)
class Answer:
    """What came back; the body is None if it is longer than anybody's account of a limit."""

    status: int
    headers: httpx.Headers
    body: bytes | None


def ask(spec: ProbeSpec, *, timeout_seconds: float, clock: Callable[[], datetime]) -> Observation | ProbeFailed:
    """Ask the usage endpoint; whatever goes wrong is a result. Redirects are not followed.

    Args:
        timeout_seconds: for all of it.
        clock: tells when the answer came.
    """
    try:
        answer = _exchange(spec, timeout_seconds)
    except (TimeoutError, httpx.TimeoutException):
        return ProbeFailed(f"{spec.server} did not answer within {timeout_seconds:g} s.")
    except httpx.ConnectError as error:
        return ProbeFailed(f"{spec.server} cannot be reached: {innermost_reason(error)}.")
    except (httpx.InvalidURL, httpx.UnsupportedProtocol):
        return ProbeFailed("The usage endpoint cannot be asked: its address is none of the web.")
    except (httpx.HTTPError, ValueError) as error:
        return ProbeFailed(f"{spec.server} broke off the exchange ({type(error).__name__}).")
    said = read_headers(answer.headers, status=answer.status, received_at=clock())
    return _by_body(spec, answer, said) if spec.expressions else _by_headers(spec, answer, said)


def _exchange(spec: ProbeSpec, timeout_seconds: float) -> Answer:
    """Return the answer, in time: a thread of its own asks, which nobody waits for if its name server hangs."""
    answer: Future[Answer] = Future()

    def work() -> None:
        try:
            answer.set_result(asyncio.run(_perform(spec, timeout_seconds)))
        except BaseException as error:  # it is raised again where somebody waits
            answer.set_exception(error)

    threading.Thread(target=work, name="probe", daemon=True).start()
    return answer.result(timeout_seconds + FAREWELL_SECONDS)


async def _perform(spec: ProbeSpec, timeout_seconds: float) -> Answer:
    headers = {"User-Agent": "tideline", "Accept": "application/json"} | dict(spec.headers)
    async with (
        asyncio.timeout(timeout_seconds),
        httpx.AsyncClient(timeout=timeout_seconds) as client,
        client.stream("GET", spec.url, headers=headers) as response,
    ):
        return Answer(response.status_code, response.headers, await _read(response))


async def _read(response: httpx.Response) -> bytes | None:
    body = b""
    async for chunk in response.aiter_bytes():
        body += chunk
        if len(body) > MOST_BYTES:
            return None
    return body


# --- what it says ------------------------------------------------------------------------------------------------


def _by_headers(spec: ProbeSpec, answer: Answer, said: Observation) -> Observation | ProbeFailed:
    if said.limited or (_is_success(answer) and said.says_something):
        return said
    if _is_success(answer):
        return ProbeFailed(f"{spec.server} says nothing about a limit in its headers; name where its JSON does.")
    return _refused(spec, answer)


def _by_body(spec: ProbeSpec, answer: Answer, said: Observation) -> Observation | ProbeFailed:
    """Return what the document says. A refusal to tell it is about the usage endpoint and not about the quota."""
    if not _is_success(answer):
        return _refused(spec, answer)
    if answer.body is None:
        return ProbeFailed(f"{spec.server} answered more than {MOST_BYTES // 1024} KiB.")
    try:
        document = json.loads(answer.body)
    except (ValueError, RecursionError):
        return ProbeFailed(f"{spec.server} answered something that is no JSON.")
    found = _figures(spec, document, Observation(said.received_at, status=answer.status))
    return found if found.says_something else ProbeFailed(_nothing_found(spec, found))


def _is_success(answer: Answer) -> bool:
    return HTTPStatus.OK <= answer.status < HTTPStatus.MULTIPLE_CHOICES


def _refused(spec: ProbeSpec, answer: Answer) -> ProbeFailed:
    hint = " Redirects are not followed; use the address they lead to." if answer.status in (301, 302, 307, 308) else ""
    return ProbeFailed(f"{spec.server} answered {_status(answer.status)}.{hint}")


def _status(status: int) -> str:
    known = status in HTTPStatus.__members__.values()
    return f"{status} {HTTPStatus(status).phrase}" if known else str(status)


def _figures(spec: ProbeSpec, document: Any, empty: Observation) -> Observation:
    """Return what the expressions find in the document. Where nothing is left, the provider refuses."""
    doubts = Doubts(shows_values=False)
    reader = Reader(empty.received_at, doubts)
    texts = {name: _found(name, expression, document, doubts) for name, expression in spec.expressions.items()}
    limit, remaining = (reader.amount(name, texts.get(name)) for name in ("limit", "remaining"))
    resets_at = reader.instant("reset", texts.get("reset"))
    if limit is not None and remaining is not None and remaining > limit:
        doubts.add("More is said to be left than the limit allows.")
        limit = remaining = None
    return replace(
        empty,
        limited=remaining == 0,
        limit=limit,
        remaining=remaining,
        resets_at=resets_at,
        doubts=doubts.sentences,
    )


def _found(name: str, expression: str, document: Any, doubts: Doubts) -> str | None:
    """Return what the expression finds, as text; nothing is no doubt for a window that has not begun."""
    try:
        value = jmespath.search(expression, document)
    except (JMESPathError, RecursionError):
        value = None
    text = as_text(value)
    if text is None:
        doubts.add(f"{name} found {'nothing' if value is None else 'no number and no text'} in the answer.")
    return text


def _nothing_found(spec: ProbeSpec, found: Observation) -> str:
    return " ".join((f"{spec.server} answered, but nothing in it makes sense.", *found.doubts))

"""Posts bytes to an address that a person typed, and says how far that came: not taken, unanswered, or answered."""

import asyncio
import ssl
import threading
import zlib
from collections.abc import Collection, Iterator, Mapping
from concurrent.futures import Future
from dataclasses import dataclass, field
from typing import Any

import httpx

from project.kit.outbound.addresses import Address, BadAddress, check_address
from project.kit.outbound.dialling import GuardedTransport, InwardAddress, NameNotResolved

# An answer is read so far and no further, packed or unpacked.
MOST_BYTES = 64 * 1024
# How long after its time an exchange may take to close its connection.
FAREWELL_SECONDS = 1.0
_UNWRITABLE = "The request cannot be written: a header of it holds what no header can."
_GZIP_OR_ZLIB = 32 + zlib.MAX_WBITS


@dataclass(frozen=True, slots=True)
class Answered:
    """The other side answered: status, headers by lower-case names, the first bytes of the body."""

    status: int
    headers: Mapping[str, str] = field(default_factory=dict)
    body: bytes = b""


@dataclass(frozen=True, slots=True)
class NotTaken:
    """It certainly did not arrive.

    Attributes:
        sentence: why, without the address's path.
        final: another try would end the same way.
    """

    sentence: str
    final: bool = False


@dataclass(frozen=True, slots=True)
class Unanswered:
    """It went out, at least in part, and nobody can know whether it was taken."""

    sentence: str


Posted = Answered | NotTaken | Unanswered


def post(
    url: str,
    body: bytes,
    headers: Mapping[str, str],
    *,
    timeout_seconds: float,
    allowed_hosts: Collection[str] = (),
) -> Posted:
    """Post exactly these bytes; whatever goes wrong is a result. Redirects are not followed, proxies of the
    environment not used.

    Args:
        timeout_seconds: for all of it, from asking the DNS to the last byte of the answer.
        allowed_hosts: hosts that may lie inwards, as `name` or `name:port`.
    """
    try:
        address = check_address(url, allowed_hosts=allowed_hosts)
        request = httpx.Request("POST", address.url, headers=_complete(headers), content=body)
    except BadAddress as error:
        return NotTaken(str(error), final=True)
    except (httpx.InvalidURL, ValueError, TypeError):
        return NotTaken(_UNWRITABLE, final=True)
    exchange = _Exchange(address, request, allowed_hosts)
    try:
        return exchange.perform(timeout_seconds)
    except (TimeoutError, httpx.TimeoutException):
        return exchange.ended(f"{address.host} did not answer within {timeout_seconds:g} s.")
    except (httpx.HTTPError, OSError, ValueError) as error:
        return exchange.failed(error)


def _complete(headers: Mapping[str, str]) -> Mapping[str, str]:
    """Return the headers with those that every request has; a packed answer is not asked for."""
    return {"User-Agent": "tideline", "Accept": "*/*", "Accept-Encoding": "identity"} | dict(headers)


class _Exchange:
    """One request and its answer, in a thread of its own, which nobody waits for if its name server hangs."""

    def __init__(self, address: Address, request: httpx.Request, allowed_hosts: Collection[str]) -> None:
        self._address, self._request, self._allowed_hosts = address, request, allowed_hosts
        self._begun = False
        self._request.extensions["trace"] = self._note_beginning

    def perform(self, timeout_seconds: float) -> Answered:
        """Return the answer, in time."""
        answer: Future[Answered] = Future()

        def work() -> None:
            try:
                answer.set_result(asyncio.run(self._perform(timeout_seconds)))
            except BaseException as error:  # it is raised again where somebody waits
                answer.set_exception(error)

        threading.Thread(target=work, name="post", daemon=True).start()
        return answer.result(timeout_seconds + FAREWELL_SECONDS)

    def ended(self, sentence: str) -> NotTaken | Unanswered:
        """Return what is known after the time is over: what was under way then may still have arrived."""
        return Unanswered(f"{sentence} It may have taken it.") if self._begun else NotTaken(sentence)

    def failed(self, error: Exception) -> NotTaken | Unanswered:
        """Return what is known after the exchange broke off. How much of what was written has arrived, nobody knows."""
        if isinstance(error, httpx.LocalProtocolError):
            return NotTaken(_UNWRITABLE, final=True)
        if self._begun:
            return Unanswered(f"{self._address.host} broke off without an answer. It may have taken it.")
        return NotTaken(_why_not_reached(self._address.host, error), final=isinstance(error, InwardAddress))

    async def _perform(self, timeout_seconds: float) -> Answered:
        async with asyncio.timeout(timeout_seconds), GuardedTransport(self._allowed_hosts) as transport:
            response = await transport.handle_async_request(self._request)
            try:
                return await _read(response)
            finally:
                await response.aclose()

    async def _note_beginning(self, event: str, info: Mapping[str, Any]) -> None:
        self._begun = self._begun or event == "http11.send_request_headers.started"


async def _read(response: httpx.Response) -> Answered:
    packed = b""
    async for piece in response.stream:  # type: ignore[union-attr]
        packed += piece
        if len(packed) >= MOST_BYTES:
            break
    headers = {name.lower(): value for name, value in response.headers.items()}
    return Answered(response.status_code, headers, _unpacked(packed, headers.get("content-encoding", ""))[:MOST_BYTES])


def _unpacked(body: bytes, encoding: str) -> bytes:
    """Return the body's beginning. Few bytes can unpack to very many, so no more are than are kept."""
    if encoding.strip().lower() not in ("gzip", "x-gzip", "deflate"):
        return body
    try:
        return zlib.decompressobj(_GZIP_OR_ZLIB).decompress(body, MOST_BYTES)
    except zlib.error:
        return b""


def _why_not_reached(host: str, error: Exception) -> str:
    if isinstance(error, InwardAddress | NameNotResolved):
        return str(error)
    for cause in _causes(error):
        match cause:
            case ssl.SSLCertVerificationError():
                return f"The certificate of {host} is not trusted: {cause.verify_message}."
            case ssl.SSLError():
                return f"{host} does not speak TLS as it should."
            case ConnectionRefusedError():
                return f"{host} refuses the connection."
    return f"{host} cannot be reached."


def _causes(error: BaseException) -> Iterator[BaseException]:
    yield error
    nested = error.exceptions[0] if isinstance(error, BaseExceptionGroup) else None
    if cause := nested or error.__cause__ or error.__context__:
        yield from _causes(cause)

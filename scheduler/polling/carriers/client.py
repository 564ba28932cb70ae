"""One HTTP call to a carrier: through the gate, within its time, and whatever goes wrong is a CarrierError."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import ClassVar

import aiohttp
from django.conf import settings
from django.utils.translation import gettext_noop
from pydantic import BaseModel, ConfigDict, Field
from yarl import URL

from project.kit.outbound import LeadsInwards, check_address
from project.kit.reasons import innermost_reason
from scheduler.polling.carriers.answers import Answer
from scheduler.polling.carriers.base import CarrierError, Gate
from scheduler.polling.states import ErrorClass

# An answer about a thousand cards is far below it.
MOST_BYTES = 4 * 1024 * 1024


class _TooLarge(ValueError):
    pass


class Timeouts(BaseModel):
    """How long is waited for what, in seconds."""

    model_config: ClassVar[ConfigDict] = ConfigDict(extra="forbid", frozen=True, hide_input_in_errors=True)

    connect: float = Field(
        default=5, gt=0, le=60, title="Connecting", description=gettext_noop("Seconds until a connection stands.")
    )
    read: float = Field(
        default=20, gt=0, le=300, title="Reading", description=gettext_noop("Seconds between two pieces of an answer.")
    )
    total: float = Field(
        default=30, gt=0, le=600, title="In all", description=gettext_noop("Seconds for all of a call.")
    )

    def as_client_timeout(self) -> aiohttp.ClientTimeout:
        """Return them as aiohttp takes them."""
        return aiohttp.ClientTimeout(total=self.total, connect=self.connect, sock_read=self.read)


@dataclass(frozen=True, slots=True)
class Request:
    """What is sent. Its text shows only what is no secret.

    Attributes:
        endpoint: what it asks for, such as usage; codes of the carrier are told apart by it.
        path: behind the base address, with its query, percent-encoded.
    """

    endpoint: str
    method: str
    path: str = field(repr=False)
    headers: Mapping[str, str] = field(default_factory=dict, repr=False)
    body: bytes | None = field(default=None, repr=False)


class Client:
    """Calls one base address for one account.

    Args:
        base: the beginning of every address that is called.
        answers: as what answers are read.

    Raises:
        BadAddress: the base may not be called; the sentence says why.
    """

    def __init__(
        self,
        base: str,
        http: aiohttp.ClientSession,
        gate: Gate,
        timeouts: Timeouts,
        answers: type[Answer] = Answer,
    ) -> None:
        address = check_address(base, allowed_hosts=settings.TIDELINE_ALLOWED_HOSTS_INWARD)
        self.host = address.host
        self._base, self._http, self._gate, self._answers = address.url.rstrip("/"), http, gate, answers
        self._timeouts, self._timeout = timeouts, timeouts.as_client_timeout()

    async def exchange(self, request: Request) -> Answer:
        """Send the request and return the answer, whatever its status. Redirects are not followed.

        Raises:
            CarrierError: timeout, network or malformed.
            Busy: the gate would take too long to open; nothing was sent.
        """
        async with self._gate():
            try:
                return await self._exchange(request)
            except (TimeoutError, aiohttp.ClientError, OSError, ValueError) as error:
                failure = self._failure(error)
        raise failure  # out here, where no text of the library's, which may hold the address, is its context

    async def _exchange(self, request: Request) -> Answer:
        async with self._http.request(
            request.method,
            URL(self._base + request.path, encoded=True),
            headers=request.headers,
            data=request.body,
            timeout=self._timeout,
            allow_redirects=False,
        ) as response:
            body = await self._read(response)
            headers = {name.lower(): value for name, value in response.headers.items()}
            return self._answers(response.status, headers, body, response.charset or "")

    async def _read(self, response: aiohttp.ClientResponse) -> bytes:
        pieces, size = [], 0
        async for piece in response.content.iter_any():
            pieces.append(piece)
            size += len(piece)
            if size > MOST_BYTES:
                raise _TooLarge
        return b"".join(pieces)

    def _failure(self, error: Exception) -> CarrierError:
        """Return what the library's error means."""
        if isinstance(error, TimeoutError):
            return self._too_late(error)
        if isinstance(error, aiohttp.ClientConnectorError):
            return CarrierError(ErrorClass.NETWORK, _why_not_reached(self.host, error), unsent=True)
        if isinstance(error, _TooLarge | aiohttp.ClientResponseError | ValueError):
            return CarrierError(ErrorClass.MALFORMED, _why_not_understood(self.host, error))
        return CarrierError(ErrorClass.NETWORK, f"{self.host} broke off before it had answered.")

    def _too_late(self, error: TimeoutError) -> CarrierError:
        match error:
            case aiohttp.ConnectionTimeoutError():
                sentence = f"{self.host} did not accept a connection within {self._timeouts.connect:g} s."
                return CarrierError(ErrorClass.NETWORK, sentence, unsent=True)
            case aiohttp.SocketTimeoutError():
                sentence = f"{self.host} fell silent for {self._timeouts.read:g} s before it had answered."
            case _:
                sentence = f"{self.host} did not answer within {self._timeouts.total:g} s."
        return CarrierError(ErrorClass.TIMEOUT, sentence)


def _why_not_reached(host: str, error: aiohttp.ClientConnectorError) -> str:
    match error:
        case aiohttp.ClientConnectorDNSError(os_error=LeadsInwards() as inwards):
            return str(inwards)
        case aiohttp.ClientConnectorDNSError():
            return f"The name {host} cannot be resolved."
        case aiohttp.ClientConnectorCertificateError():
            return f"The certificate of {host} is not trusted."
    return f"{host} cannot be reached: {innermost_reason(error)}."


def _why_not_understood(host: str, error: Exception) -> str:
    if isinstance(error, _TooLarge):
        return f"{host} answered more than {MOST_BYTES // 1024**2} MB, which no answer about cards has."
    if isinstance(error, aiohttp.ClientResponseError):
        return f"{host} does not speak HTTP as it should."
    return "The request cannot be written: its address or one of its headers holds what none can."

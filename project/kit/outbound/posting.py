"""Posts bytes to an address that a person typed, and says how far that came: not taken, unanswered, or answered."""

from collections.abc import Collection, Mapping
from dataclasses import dataclass, field

import httpx

from project.kit.outbound.addresses import BadAddress, check_address
from project.kit.outbound.dialling import GuardedTransport, InwardAddress

MOST_BYTES = 64 * 1024


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
    """Post exactly these bytes. Redirects are not followed, proxies of the environment not used; it never raises."""
    try:
        address = check_address(url, allowed_hosts=allowed_hosts)
    except BadAddress as error:
        return NotTaken(str(error), final=True)
    try:
        with httpx.Client(transport=GuardedTransport(allowed_hosts), timeout=timeout_seconds) as client:
            return _exchange(client, address.url, body, headers)
    except InwardAddress as error:
        return NotTaken(str(error), final=True)
    except (httpx.ConnectError, httpx.ConnectTimeout, httpx.PoolTimeout) as error:
        return NotTaken(f"{address.host} cannot be reached ({type(error).__name__}).")
    except httpx.HTTPError as error:
        return Unanswered(f"{address.host} did not answer in time ({type(error).__name__}); it may have taken it.")
    except (httpx.InvalidURL, ValueError) as error:
        return NotTaken(f"The request cannot be written ({type(error).__name__}).", final=True)


def _exchange(client: httpx.Client, url: str, body: bytes, headers: Mapping[str, str]) -> Answered:
    with client.stream("POST", url, content=body, headers=dict(headers)) as response:
        taken = b""
        for piece in response.iter_bytes():
            taken += piece
            if len(taken) >= MOST_BYTES:
                break
        lowered = {name.lower(): value for name, value in response.headers.items()}
        return Answered(response.status_code, lowered, taken[:MOST_BYTES])

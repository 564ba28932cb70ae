"""Opens connections to public addresses only: every address of a name is checked, and a checked one dialled, so that
an answer of the DNS that changes between the check and the call gains nothing.
"""

import asyncio
import socket
import ssl
from collections.abc import Collection, Iterable
from functools import cache
from typing import Any

import httpcore
import httpx

from project.kit.outbound.addresses import is_allowed
from project.kit.outbound.networks import is_public


class InwardAddress(httpx.ConnectError):
    """The name leads inwards."""

    def __init__(self, host: str) -> None:
        super().__init__(f"{host} leads to an address in a private network, which is not called.")


class NameNotResolved(httpx.ConnectError):
    """The DNS knows no address of the name, or does not answer."""

    def __init__(self, host: str) -> None:
        super().__init__(f"The name {host} cannot be resolved.")


class GuardedTransport(httpx.AsyncHTTPTransport):
    """A transport whose connections go outwards, except to hosts that are allowed; it uses no proxy."""

    def __init__(self, allowed_hosts: Collection[str] = ()) -> None:
        super().__init__(verify=_trusted(), trust_env=False)
        self._pool = httpcore.AsyncConnectionPool(
            ssl_context=_trusted(), network_backend=_GuardedBackend(allowed_hosts)
        )


class _GuardedBackend(httpcore.AnyIOBackend):
    def __init__(self, allowed_hosts: Collection[str]) -> None:
        self._allowed_hosts = allowed_hosts

    async def connect_tcp(
        self,
        host: str,
        port: int,
        timeout: float | None = None,
        local_address: str | None = None,
        socket_options: Iterable[Any] | None = None,
    ) -> httpcore.AsyncNetworkStream:
        """Resolve the host, check each of its addresses, and connect to the first that answers."""
        addresses = await _resolve(host, port)
        if not is_allowed(host, port, self._allowed_hosts) and not all(map(is_public, addresses)):
            raise InwardAddress(host)
        for address in addresses[:-1]:
            try:
                return await super().connect_tcp(address, port, timeout, local_address, socket_options)
            except (httpcore.ConnectError, httpcore.ConnectTimeout):
                continue
        return await super().connect_tcp(addresses[-1], port, timeout, local_address, socket_options)

    async def connect_unix_socket(self, path: str, *_: Any, **__: Any) -> httpcore.AsyncNetworkStream:
        """Refuse."""
        raise InwardAddress("A socket of this machine")


@cache
def _trusted() -> ssl.SSLContext:
    """Return the certificates that this machine trusts; reading them takes longer than a message."""
    return ssl.create_default_context()


async def _resolve(host: str, port: int) -> list[str]:
    try:
        found = await asyncio.get_running_loop().getaddrinfo(host, port, type=socket.SOCK_STREAM)
    except (OSError, UnicodeError) as error:
        raise NameNotResolved(host) from error
    return list(dict.fromkeys(str(place[0]) for *_, place in found))

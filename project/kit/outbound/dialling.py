"""Opens connections to public addresses only: every address of a name is checked, and a checked one dialled, so that
an answer of the DNS that changes between the check and the call gains nothing.
"""

import socket
import ssl
from collections.abc import Collection, Iterable
from typing import Any

import httpcore
import httpx

from project.kit.outbound.addresses import is_allowed
from project.kit.outbound.networks import is_public


class InwardAddress(httpx.ConnectError):
    """The name leads inwards."""

    def __init__(self, host: str) -> None:
        super().__init__(f"{host} leads to an address in a private network, which is not called.")


class GuardedTransport(httpx.HTTPTransport):
    """A transport whose connections go outwards, except to hosts that are allowed."""

    def __init__(self, allowed_hosts: Collection[str] = ()) -> None:
        super().__init__(retries=0, trust_env=False)
        self._pool = httpcore.ConnectionPool(
            ssl_context=ssl.create_default_context(), network_backend=_GuardedBackend(allowed_hosts)
        )


class _GuardedBackend(httpcore.SyncBackend):
    def __init__(self, allowed_hosts: Collection[str]) -> None:
        self._allowed_hosts = allowed_hosts

    def connect_tcp(
        self,
        host: str,
        port: int,
        timeout: float | None = None,
        local_address: str | None = None,
        socket_options: Iterable[Any] | None = None,
    ) -> httpcore.NetworkStream:
        """Resolve the host, check each of its addresses, and connect to one of them."""
        addresses = _resolve(host, port)
        if not is_allowed(host, port, self._allowed_hosts) and not all(map(is_public, addresses)):
            raise InwardAddress(host)
        return self._first_that_answers(addresses, port, timeout, local_address, socket_options)

    def connect_unix_socket(self, path: str, *_: Any, **__: Any) -> httpcore.NetworkStream:
        """Refuse."""
        raise InwardAddress(path)

    def _first_that_answers(self, addresses: list[str], port: int, *rest: Any) -> httpcore.NetworkStream:
        for address in addresses[:-1]:
            try:
                return super().connect_tcp(address, port, *rest)
            except (httpcore.ConnectError, httpcore.ConnectTimeout):
                continue
        return super().connect_tcp(addresses[-1], port, *rest)


def _resolve(host: str, port: int) -> list[str]:
    try:
        found = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)
    except (OSError, UnicodeError) as error:
        raise httpcore.ConnectError(f"The name {host} cannot be resolved.") from error
    return list(dict.fromkeys(str(place[0]) for *_, place in found))

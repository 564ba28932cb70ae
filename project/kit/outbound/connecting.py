"""Connections of aiohttp to public addresses only: every address of a name is checked, and a checked one dialled, so
that an answer of the DNS that changes between the check and the call gains nothing.
"""

from collections.abc import Collection, Sequence
from typing import Any

import aiohttp
from aiohttp.abc import ResolveResult

from project.kit.outbound.addresses import is_allowed
from project.kit.outbound.networks import is_public


class LeadsInwards(OSError):
    """The host leads into a private network; aiohttp passes it on as the `os_error` of a ClientConnectorDNSError."""

    def __init__(self, host: str) -> None:
        super().__init__(f"{host} leads to an address in a private network, which is not called.")


class GuardedConnector(aiohttp.TCPConnector):
    """A connector whose connections go outwards, except to hosts that are allowed.

    Args:
        allowed_hosts: hosts that may lie inwards, as `name` or `name:port`.
        options: as aiohttp.TCPConnector has them.
    """

    def __init__(self, allowed_hosts: Collection[str] = (), **options: Any) -> None:
        super().__init__(**options)
        self._allowed_hosts = frozenset(allowed_hosts)

    # Not the resolver, which aiohttp does not ask where the host is an address.
    async def _resolve_host(self, host: str, port: int, traces: Sequence[Any] | None = None) -> list[ResolveResult]:
        """Return where the host leads, checked; aiohttp dials exactly these addresses."""
        found = await super()._resolve_host(host, port, traces)
        if not is_allowed(host, port, self._allowed_hosts) and not all(is_public(place["host"]) for place in found):
            raise LeadsInwards(host)
        return found

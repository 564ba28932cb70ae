"""Where a name leads, for libraries that open their connections themselves: a look before, and no more than that."""

import socket
from collections.abc import Collection

from project.kit.outbound.networks import is_public


def leads_inwards(host: str, *, allowed_hosts: Collection[str] = ()) -> bool:
    """Tell whether the name, or the address, leads into a private network now; what leads nowhere does not.

    Args:
        allowed_hosts: hosts that may lie inwards.
    """
    if host in allowed_hosts:
        return False
    try:
        found = socket.getaddrinfo(host, None, type=socket.SOCK_STREAM)
    except (OSError, UnicodeError):
        return False
    return not all(is_public(str(place[0])) for *_, place in found)

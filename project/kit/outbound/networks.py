"""Which IP addresses are public. An IPv4 address hides in several kinds of IPv6 address: what can lead to it is judged
by it, and what nobody uses any more is refused.
"""

from ipaddress import IPv4Address, IPv4Network, IPv6Address, IPv6Network, ip_address

_NAT64 = IPv6Network("64:ff9b::/96")
_GLOBAL_UNICAST = IPv6Network("2000::/3")
# What older versions of Python take for public, and what is public by its number but never leads outwards.
_INWARD = (
    IPv4Network("192.0.0.0/24"),  # protocol assignments; one cloud answers there for its machines
    IPv4Network("192.88.99.0/24"),  # the relays of 6to4, which are gone
    IPv4Network("168.63.129.16/32"),  # what another cloud answers its machines from
    IPv6Network("2001::/23"),  # protocol assignments, among them Teredo, which embeds two IPv4 addresses
    IPv6Network("2002::/16"),  # 6to4, which embeds one
    IPv6Network("3fff::/20"),  # documentation
)
_ISATAP = (0x00005EFE, 0x02005EFE)  # the middle of an address that embeds one in its end


def is_public(address: str) -> bool:
    """Tell whether the IP address is one of the public internet.

    Private, loopback, link-local, shared, multicast, reserved, unspecified and documentation ones are not, nor is one
    that names an interface.

    Raises:
        ValueError: it is no IP address.
    """
    ip = ip_address(address)
    return _is_public_ipv4(ip) if isinstance(ip, IPv4Address) else _is_public_ipv6(ip)


def _is_public_ipv4(ip: IPv4Address) -> bool:
    return ip.is_global and not (ip.is_multicast or ip.is_reserved or any(ip in network for network in _INWARD))


def _is_public_ipv6(ip: IPv6Address) -> bool:
    if ip.scope_id is not None:
        return False
    if ip.ipv4_mapped is not None:
        return _is_public_ipv4(ip.ipv4_mapped)
    if ip in _NAT64:
        return _is_public_ipv4(IPv4Address(int(ip) & 0xFFFFFFFF))
    if ip not in _GLOBAL_UNICAST or not ip.is_global or any(ip in network for network in _INWARD):
        return False
    return (int(ip) >> 32) & 0xFFFFFFFF not in _ISATAP

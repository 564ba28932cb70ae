"""Which IP addresses are public. An IPv4 address hides in several kinds of IPv6 address: all are unwrapped first."""

from collections.abc import Iterator
from ipaddress import IPv4Address, IPv6Address, IPv6Network, ip_address

IP = IPv4Address | IPv6Address

_NAT64 = (IPv6Network("64:ff9b::/96"), IPv6Network("64:ff9b:1::/48"))
_COMPATIBLE = IPv6Network("::/96")
_TRANSLATED = IPv6Network("::ffff:0:0:0/96")  # IPv4-translated, RFC 2765
_ISATAP = (0x00005EFE, 0x02005EFE)


def is_public(address: str) -> bool:
    """Tell whether the IP address is one of the public internet, and so is each address that is embedded in it.

    Private, loopback, link-local, shared, multicast, reserved and unspecified ones are not.

    Raises:
        ValueError: it is no IP address.
    """
    return all(_is_public(ip) for ip in _with_embedded(ip_address(address.partition("%")[0])))


def _is_public(ip: IP) -> bool:
    if isinstance(ip, IPv6Address) and _embeds(ip):
        return True  # judged by what it embeds
    return ip.is_global and not (ip.is_multicast or ip.is_reserved or ip.is_unspecified or ip.is_link_local)


def _embeds(ip: IPv6Address) -> bool:
    return any(True for _ in _embedded(ip))


def _with_embedded(ip: IP) -> Iterator[IP]:
    yield ip
    if isinstance(ip, IPv6Address):
        yield from _embedded(ip)


def _embedded(ip: IPv6Address) -> Iterator[IPv4Address]:
    """Yield the IPv4 addresses that the IPv6 address stands for or leads to."""
    last = IPv4Address(int(ip) & 0xFFFFFFFF)
    if ip.ipv4_mapped is not None:
        yield ip.ipv4_mapped
    elif ip in _COMPATIBLE or ip in _TRANSLATED or any(ip in network for network in _NAT64):
        yield last
    elif ip.sixtofour is not None:
        yield ip.sixtofour
    elif ip.teredo is not None:
        yield from ip.teredo
    elif (int(ip) >> 32) & 0xFFFFFFFF in _ISATAP:
        yield last

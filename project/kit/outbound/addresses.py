"""Reads an address that a person typed: whatever two programs might read differently is refused with a sentence."""

import re
import unicodedata
from collections.abc import Collection
from dataclasses import dataclass
from ipaddress import AddressValueError, IPv4Address, IPv6Address
from urllib.parse import urlsplit

import idna

from project.kit.outbound.networks import is_public

PORTS = {"http": 80, "https": 443}
LONGEST = 2000
_LABEL = re.compile(r"(?!-)[a-z0-9_-]{1,63}(?<!-)")
# How old programs read a number as an IPv4 address: 127.1, 0x7f.1, 2130706433, 0177.0.0.1
_NUMBER = re.compile(r"(0x[0-9a-f]*|[0-9]+)")


class BadAddress(ValueError):
    """The address cannot be used; the sentence says what is wrong and never repeats what may be a secret."""


@dataclass(frozen=True, slots=True)
class Address:
    """A checked address.

    Attributes:
        url: as it is called: the host in ASCII.
        host: in ASCII, an IPv6 address without brackets.
    """

    url: str
    scheme: str
    host: str
    port: int


def check_address(text: str, *, allowed_hosts: Collection[str] = ()) -> Address:
    """Return the address as it is called.

    Args:
        allowed_hosts: hosts that may lie inwards, as `name` or `name:port`.

    Raises:
        BadAddress: with a sentence that says what to correct.
    """
    _refuse_odd_characters(text)
    scheme, rest = _split_scheme(text)
    parts = urlsplit(f"{scheme}://{rest}")
    if "@" in parts.netloc:
        raise BadAddress("The address holds a user name or password before an @. Leave it out.")
    host, port = _host_and_port(parts.netloc, scheme)
    if not is_allowed(host, port, allowed_hosts):
        _refuse_inward(host)
    shown = f"[{host}]" if ":" in host else host
    place = shown if port == PORTS[scheme] else f"{shown}:{port}"
    path = parts.path or "/"
    query = f"?{parts.query}" if parts.query else ""
    return Address(f"{scheme}://{place}{path}{query}", scheme, host, port)


def is_allowed(host: str, port: int, allowed_hosts: Collection[str]) -> bool:
    """Tell whether a setting opens the host though it may lie inwards."""
    return host in allowed_hosts or f"{host}:{port}" in allowed_hosts


def _refuse_odd_characters(text: str) -> None:
    if not text:
        raise BadAddress("The address is empty.")
    if len(text) > LONGEST:
        raise BadAddress(f"The address is longer than {LONGEST:,} characters.")
    if text != text.strip() or any(character.isspace() for character in text):
        raise BadAddress("The address has a space in it. Remove it, or write %20 in a path.")
    if "\\" in text:
        raise BadAddress("The address has a backslash in it. Write / instead.")
    for character in text:
        if unicodedata.category(character) in ("Cc", "Cf", "Cn", "Co", "Cs", "Zl", "Zp"):
            raise BadAddress(f"The address has an invisible character in it (U+{ord(character):04X}). Type it anew.")


def _split_scheme(text: str) -> tuple[str, str]:
    scheme, separator, rest = text.partition("://")
    if not separator:
        raise BadAddress("The address does not begin with https:// or http://.")
    if scheme.lower() not in PORTS:
        raise BadAddress(f"The address begins with {scheme[:20]}://; only https:// and http:// can be called.")
    return scheme.lower(), rest


def _host_and_port(place: str, scheme: str) -> tuple[str, int]:
    if place.startswith("["):
        host, bracket, port = place[1:].partition("]")
        if not bracket or (port and not port.startswith(":")):
            raise BadAddress("The IPv6 address in it is not closed by ] as in [2001:db8::1]:8443.")
        return _ipv6(host), _port(port.removeprefix(":"), scheme, given=bool(port))
    host, colon, port = place.partition(":")
    return _name_or_ipv4(host), _port(port, scheme, given=bool(colon))


def _port(text: str, scheme: str, *, given: bool) -> int:
    if not given:
        return PORTS[scheme]
    if not (text.isascii() and text.isdigit() and 1 <= int(text[:6]) <= 65_535):
        raise BadAddress("The port after the host is a number from 1 to 65535.")
    return int(text)


def _ipv6(text: str) -> str:
    try:
        return str(IPv6Address(text)) if "%" not in text else _refuse_zone()
    except AddressValueError:
        raise BadAddress("What stands in [ ] is no IPv6 address.") from None


def _refuse_zone() -> str:
    raise BadAddress("The IPv6 address names an interface after %. Only public addresses can be called.")


def _name_or_ipv4(text: str) -> str:
    if not text:
        raise BadAddress("The address has no host, as example.org in https://example.org/.")
    host = _ascii(text)
    labels = host.removesuffix(".").split(".")
    if _NUMBER.fullmatch(labels[-1]):
        return _ipv4(host)
    for label in labels:
        if not _LABEL.fullmatch(label):
            raise BadAddress("The host is no name: each part has 1 to 63 letters, digits and hyphens inside.")
    return host


def _ascii(text: str) -> str:
    """Return the name as it is asked for in the DNS."""
    if any(dot in text for dot in "。．｡"):
        raise BadAddress("The host is written with dots of another script. Write . instead.")
    if text.isascii():
        return _checked_punycode(text.lower())
    if unicodedata.normalize("NFKC", text).isascii():
        raise BadAddress("The host is written with look-alikes of plain letters or digits. Write it plainly.")
    try:
        return idna.encode(text, uts46=True).decode().lower()
    except idna.IDNAError:
        raise BadAddress("The host has characters in it that no name may have.") from None


def _checked_punycode(host: str) -> str:
    """Return the name if each part that says to be encoded (xn--) is what encoding gives."""
    for label in host.split("."):
        if label.startswith("xn--"):
            try:
                idna.ulabel(label)
            except idna.IDNAError:
                raise BadAddress("A part of the host begins with xn-- and is no encoded name.") from None
    return host


def _ipv4(host: str) -> str:
    try:
        return str(IPv4Address(host))
    except AddressValueError:
        raise BadAddress("The host is a number that programs read differently. Write it as 192.0.2.1.") from None


def _refuse_inward(host: str) -> None:
    try:
        public = is_public(host)
    except ValueError:
        public = not (host == "localhost" or host.endswith((".localhost", ".local", ".internal")) or "." not in host)
    if not public:
        raise BadAddress(
            f"{host} lies in a private network. An administrator can allow it by TIDELINE_ALLOWED_HOSTS_INWARD."
        )

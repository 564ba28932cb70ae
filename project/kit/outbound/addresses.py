"""Reads an address that a person typed: whatever two programs might read differently is refused with a sentence."""

import re
import string
import unicodedata
from collections.abc import Collection
from dataclasses import dataclass
from ipaddress import AddressValueError, IPv4Address, IPv6Address
from urllib.parse import quote

import idna
from django.utils.translation import gettext as _

from project.kit.outbound.networks import is_public

PORTS = {"http": 80, "https": 443}
LONGEST = 2000
LONGEST_HOST = 253
_SCHEME = re.compile(r"[a-z][a-z0-9+.-]*", re.IGNORECASE)
_LABEL = re.compile(r"(?!-)[a-z0-9_-]{1,63}(?<!-)")
# How old programs read a number as an IPv4 address: 127.1, 0x7f.1, 2130706433, 0177.0.0.1
_NUMBER = re.compile(r"(0x[0-9a-f]*|[0-9]+)")
# What has no look of its own and is no control or format character: joiners, fillers, variation selectors.
_FILLER = re.compile("[\u034f\u115f\u1160\u17b4\u17b5\u180b-\u180f\u3164\ufe00-\ufe0f\uffa0\U000e0100-\U000e01ef]")
_INVISIBLE = frozenset({"Cc", "Cf", "Cn", "Co", "Cs", "Zl", "Zp"})
_OTHER_DOTS = "。．｡"
_INWARD_NAMES = ("localhost", "localdomain", "local", "internal", "home.arpa")


class BadAddress(ValueError):
    """The address cannot be used; the sentence says what is wrong and never repeats what may be a secret."""


@dataclass(frozen=True, slots=True)
class Address:
    """A checked address.

    Attributes:
        url: as it is called: in ASCII, and without a port where it is the usual one.
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
    place, path = _split_path(rest)
    host, port = _host_and_port(place, scheme)
    if not is_allowed(host, port, allowed_hosts):
        _refuse_inward(host)
    shown = _in_brackets(host) if port == PORTS[scheme] else f"{_in_brackets(host)}:{port}"
    return Address(f"{scheme}://{shown}{quote(path, safe=string.printable)}", scheme, host, port)


def is_allowed(host: str, port: int, allowed_hosts: Collection[str]) -> bool:
    """Tell whether a setting opens the host though it may lie inwards."""
    return host in allowed_hosts or f"{_in_brackets(host)}:{port}" in allowed_hosts


def _in_brackets(host: str) -> str:
    return f"[{host}]" if ":" in host else host


# --- the parts -------------------------------------------------------------------------------------------------


def _refuse_odd_characters(text: str) -> None:
    if not text:
        raise BadAddress(_("The address is empty."))
    if len(text) > LONGEST:
        raise BadAddress(_("The address is longer than %(longest)s characters.") % {"longest": f"{LONGEST:,}"})
    if any(character.isspace() for character in text):
        raise BadAddress(_("The address has a space or a line break in it. Remove it, or write %20 in a path."))
    if "\\" in text:
        raise BadAddress(_("The address has a backslash in it. Write / instead."))
    for character in text:
        if unicodedata.category(character) in _INVISIBLE or _FILLER.match(character):
            raise BadAddress(
                _("The address has an invisible character in it (U+%(ord)s). Type it anew.")
                % {"ord": f"{ord(character):04X}"}
            )


def _split_scheme(text: str) -> tuple[str, str]:
    scheme, separator, rest = text.partition("://")
    if not separator or not _SCHEME.fullmatch(scheme):
        raise BadAddress(_("The address does not begin with https:// or http://."))
    if scheme.lower() not in PORTS:
        raise BadAddress(
            _("The address begins with %(scheme)s://; only https:// and http:// can be called.")
            % {"scheme": scheme[:20]}
        )
    return scheme.lower(), rest


def _split_path(rest: str) -> tuple[str, str]:
    """Return the host with its port, and the path with its query; the path begins with a slash."""
    if "#" in rest:
        raise BadAddress(_("The address has a # in it. What stands behind is never sent: leave it out, or write %23."))
    place = re.split(r"[/?]", rest, maxsplit=1)[0]
    if "@" in place:
        raise BadAddress(_("The address holds a user name or password before an @. Leave it out."))
    path = rest[len(place) :]
    return place, path if path.startswith("/") else f"/{path}"


def _host_and_port(place: str, scheme: str) -> tuple[str, int]:
    if place.startswith("["):
        host, bracket, port = place[1:].partition("]")
        if not bracket or (port and not port.startswith(":")):
            raise BadAddress(_("The IPv6 address in it is not closed by ] as in [2001:db8::1]:8443."))
        return _ipv6(host), _port(port.removeprefix(":"), scheme, given=bool(port))
    if place.count(":") > 1:
        raise BadAddress(_("An IPv6 address stands in brackets, and a port behind them, as in [2001:db8::1]:8443."))
    host, colon, port = place.partition(":")
    return _name_or_ipv4(host), _port(port, scheme, given=bool(colon))


def _port(text: str, scheme: str, *, given: bool) -> int:
    if not given:
        return PORTS[scheme]
    if not (text.isascii() and text.isdigit() and len(text) <= 5 and 1 <= int(text) <= 65_535):
        raise BadAddress(_("The port after the host is a number from 1 to 65535."))
    return int(text)


# --- the host --------------------------------------------------------------------------------------------------


def _ipv6(text: str) -> str:
    if "%" in text:
        raise BadAddress(_("The IPv6 address names an interface after %. Only public addresses can be called."))
    try:
        return str(IPv6Address(text))
    except AddressValueError:
        raise BadAddress(_("What stands in [ ] is no IPv6 address.")) from None


def _name_or_ipv4(text: str) -> str:
    if not text:
        raise BadAddress(_("The address has no host, as example.org in https://example.org/."))
    host = _ascii(text).removesuffix(".")
    labels = host.split(".")
    if _NUMBER.fullmatch(labels[-1]):
        return _ipv4(host)
    if len(host) > LONGEST_HOST:
        raise BadAddress(_("The host is longer than %(longest_host)s characters.") % {"longest_host": LONGEST_HOST})
    for label in labels:
        if not _LABEL.fullmatch(label):
            raise BadAddress(_("The host is no name: each part has 1 to 63 letters, digits and hyphens inside."))
    return host


def _ascii(text: str) -> str:
    """Return the name as it is asked for in the DNS."""
    if any(dot in text for dot in _OTHER_DOTS):
        raise BadAddress(_("The host is written with dots of another script. Write . instead."))
    return ".".join(_plain(label.lower()) if label.isascii() else _encoded(label) for label in text.split("."))


def _plain(label: str) -> str:
    """Return the part of a name; if it says to be encoded (xn--), it has to be."""
    if label.startswith("xn--"):
        try:
            idna.ulabel(label)
        except UnicodeError:
            raise BadAddress(_("A part of the host begins with xn-- and is no encoded name.")) from None
    return label


def _encoded(label: str) -> str:
    try:
        encoded = idna.encode(label, uts46=True).decode()
    except UnicodeError:
        raise BadAddress(_("The host has characters in it that no name may have.")) from None
    if not encoded.startswith("xn--"):
        raise BadAddress(_("The host is written with look-alikes of plain letters or digits. Write it plainly."))
    return encoded


def _ipv4(host: str) -> str:
    try:
        return str(IPv4Address(host))
    except AddressValueError:
        raise BadAddress(_("The host is a number that programs read differently. Write it as 192.0.2.1.")) from None


def _refuse_inward(host: str) -> None:
    if not _leads_outwards(host):
        raise BadAddress(
            _("%(host)s lies in a private network. An administrator can allow it by TIDELINE_ALLOWED_HOSTS_INWARD.")
            % {"host": host}
        )


def _leads_outwards(host: str) -> bool:
    """Tell whether the host may be public; of a name that is known only when it is resolved."""
    try:
        return is_public(host)
    except ValueError:
        return "." in host and not host.endswith(tuple(f".{name}" for name in _INWARD_NAMES))

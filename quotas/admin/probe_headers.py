"""The headers of a usage endpoint are secrets: shown by name, never by value."""

from collections.abc import Mapping
from urllib.parse import urlsplit

from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy

from project.kit.admin import TextsField
from project.kit.secrets import DOTS, UnreadableSecret
from quotas.models import Quota


def stored_headers(quota: Quota) -> dict[str, str]:
    """Return the stored headers; of those that no key reads nothing is left to show or to keep."""
    try:
        return quota.revealed_headers()
    except UnreadableSecret:
        return {}


def masked(headers: Mapping[str, str]) -> dict[str, str]:
    """Return the headers with dots for their values."""
    return dict.fromkeys(headers, DOTS)


def unmasked(typed: Mapping[str, str], stored: Mapping[str, str]) -> dict[str, str]:
    """Return the typed headers with the stored values where dots were left standing."""
    return {name: stored.get(name, value) if value == DOTS else value for name, value in typed.items()}


def fault_of_dots(typed: Mapping[str, str], quota: Quota, address: str | None) -> str:
    """Say why dots that were left standing cannot mean what is stored; empty: they can, or none were left.

    Args:
        address: the usage endpoint that the headers are to be sent to.
    """
    if DOTS not in typed.values():
        return ""
    if DOTS in unmasked(typed, stored_headers(quota)).values():
        return _("There is no stored value behind these dots; write it out.")
    if _origin(address) != _origin(quota.probe_url):
        return _("The usage endpoint is on another host. Write the headers anew: the stored ones stay with it.")
    return ""


def _origin(address: str | None) -> tuple[str, str]:
    parts = urlsplit(address or "")
    return parts.scheme, parts.netloc


class HeadersField(TextsField):
    """The headers, by their names."""

    remedy = gettext_lazy('Write the headers as a JSON object of texts, as in {"Authorization": "Bearer …"}.')

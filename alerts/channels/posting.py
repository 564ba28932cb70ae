"""What formats that post JSON share."""

from urllib.parse import urlsplit

from django.utils.translation import gettext as _

from alerts.channels.base import Refused

JSON_HEADERS = {"content-type": "application/json; charset=utf-8"}


def check_url(address: str) -> None:
    """Look whether the address is a web address at all; whether it may be called is decided where it is called.

    Raises:
        Refused: it is none.
    """
    if _scheme(address) not in {"http", "https"}:
        raise Refused(_("The address must begin with https:// or http://."))


def check_https(address: str) -> None:
    """Look whether the address is a web address over TLS, as all platforms have.

    Raises:
        Refused: it is none.
    """
    if _scheme(address) != "https":
        raise Refused(_("The address must begin with https://, as the platform shows it."))


def _scheme(address: str) -> str:
    try:
        parts = urlsplit(address)
    except ValueError:
        raise Refused(_("The address is no web address: copy it again from where you got it.")) from None
    return parts.scheme if parts.netloc else ""

"""Which platform is at a host, and which format an address belongs to.

The host decides how an answer is read and how often it may be asked, whatever format somebody chose.
"""

from dataclasses import dataclass
from urllib.parse import urlsplit

from django.core.exceptions import ValidationError
from django.core.validators import validate_email
from django.utils.translation import gettext as _

from alerts.channels.base import Refused


@dataclass(frozen=True, slots=True)
class Platform:
    """A platform's hosts.

    Attributes:
        format: the name of its format.
        hosts: by their full names.
        domains: all hosts under these.
        bots_only: whether nothing but its group bots is there. A workflow's host takes other programs' messages too.
    """

    format: str
    hosts: frozenset[str] = frozenset()
    domains: tuple[str, ...] = ()
    bots_only: bool = True

    def has(self, host: str) -> bool:
        """Tell whether the host is one of the platform's."""
        return host in self.hosts or any(host.endswith(f".{domain}") for domain in self.domains)


PLATFORMS = (
    Platform("feishu", frozenset({"open.feishu.cn", "open.larksuite.com", "open.larkoffice.com"})),
    Platform("wecom", frozenset({"qyapi.weixin.qq.com"})),
    Platform("dingtalk", frozenset({"oapi.dingtalk.com", "oapi.dingtalk.io", "api.dingtalk.com", "api.dingtalk.io"})),
    Platform("slack", frozenset({"hooks.slack.com", "hooks.slack-gov.com"})),
    Platform("teams", frozenset({"outlook.office.com", "outlook.office365.com"}), ("webhook.office.com",)),
    Platform("teams", domains=("logic.azure.com", "logic.azure.us", "api.powerplatform.com"), bots_only=False),
)


def platform_of(address: str) -> Platform | None:
    """Return the platform at the address's host, or None if it is at none that is known."""
    host = host_of(address)
    return next((platform for platform in PLATFORMS if platform.has(host)), None)


def recognise(address: str) -> str:
    """Return the name of the format that the address belongs to.

    Raises:
        Refused: it belongs to none.
    """
    platform = platform_of(address)
    if platform:
        return platform.format
    scheme, separator, _rest = address.strip().lower().partition("://")
    if separator:
        return "generic" if scheme in {"http", "https"} else "apprise"
    if _is_email(address):
        return "email"
    raise Refused(_("The address is none: it begins with https:// or another scheme, or is an e-mail address."))


def host_of(address: str) -> str:
    """Return the host in the one form in which hosts are compared; empty if there is none."""
    try:
        return (urlsplit(address).hostname or "").rstrip(".")
    except ValueError:
        return ""


def _is_email(address: str) -> bool:
    first = address.removeprefix("mailto:").split(",")[0].strip()
    try:
        validate_email(first)
    except ValidationError:
        return False
    return True

"""The formats by their names."""

from collections.abc import Mapping
from types import MappingProxyType
from typing import Protocol

from django.utils.translation import gettext as _

from alerts.channels.apprise import Apprise
from alerts.channels.base import Format, Rates, Refused
from alerts.channels.dingtalk import DingTalk
from alerts.channels.email import Email
from alerts.channels.feishu import Feishu
from alerts.channels.generic import Generic
from alerts.channels.hosts import platform_of, recognise
from alerts.channels.slack import Slack
from alerts.channels.teams import Teams
from alerts.channels.wecom import WeCom
from project.kit.secrets import Secret, UnreadableSecret

AnyFormat = Format | Email | Apprise

_OVER_HTTP: tuple[Format, ...] = (Generic(), Feishu(), WeCom(), DingTalk(), Slack(), Teams())
EMAIL, APPRISE = Email(), Apprise()

HTTP_FORMATS: Mapping[str, Format] = MappingProxyType({each.name: each for each in _OVER_HTTP})
FORMATS: Mapping[str, AnyFormat] = MappingProxyType({**HTTP_FORMATS, EMAIL.name: EMAIL, APPRISE.name: APPRISE})


class Addressed(Protocol):
    """What has an address and a format, as a channel has; the format may be empty: by the address."""

    @property
    def address(self) -> Secret: ...

    @property
    def format(self) -> str: ...


def format_of(name: str) -> AnyFormat:
    """Return the format of the name.

    Raises:
        Refused: there is none; the text says which there are.
    """
    if name not in FORMATS:
        raise Refused(
            _("There is no such format: choose one of %(formats)s.") % {"formats": ", ".join(FORMATS)}, "format"
        )
    return FORMATS[name]


def rates_of(channel: Addressed) -> Rates:
    """Return how many messages the channel's receiver takes: a platform's host has its limit with every format."""
    try:
        address = channel.address.reveal()
        platform = platform_of(address)
        return format_of(platform.format if platform else channel.format or recognise(address)).rates
    except (Refused, UnreadableSecret):
        return ()  # nothing can be sent there at all

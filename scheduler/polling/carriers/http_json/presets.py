"""Carriers whose API is JSON: an account says who it is and where, and the rest is known of the carrier."""

from typing import Any, ClassVar

import aiohttp
from django.utils.translation import gettext_noop
from pydantic import Field, SecretStr

from scheduler.polling.carriers.base import AccountSettings, Credentials, Gate
from scheduler.polling.carriers.client import Timeouts
from scheduler.polling.carriers.http_json.credentials import HttpJsonCredentials
from scheduler.polling.carriers.http_json.gateway import HttpJson
from scheduler.polling.carriers.http_json.settings import BaseAddress, HttpJsonSettings
from scheduler.polling.carriers.tokens import TokenStore
from scheduler.polling.states import CardState, CheckType, ErrorClass


class PresetSettings(AccountSettings):
    """What the accounts of such a carrier say; each carrier adds its own, and the dialect that it speaks."""

    checks: ClassVar[frozenset[CheckType]]

    base_url: BaseAddress = Field(title="Address", description=gettext_noop("What all paths stand behind."))
    states: dict[str, CardState] = Field(
        default_factory=dict,
        title="States",
        description=gettext_noop("What words of the carrier mean that are not known here."),
    )
    errors: dict[str, ErrorClass] = Field(
        default_factory=dict,
        title="Errors",
        description=gettext_noop("What codes of the carrier mean that are not known here."),
    )
    timeouts: Timeouts = Field(default_factory=Timeouts)

    @property
    def supported(self) -> frozenset[CheckType]:
        """Which checks the carrier has."""
        return self.checks

    def dialect(self) -> dict[str, Any]:
        """Return how the carrier is asked, as the settings of http_json say it."""
        raise NotImplementedError

    def as_http_json(self) -> HttpJsonSettings:
        """Return the settings with all that is known of the carrier."""
        dialect = self.dialect()
        dialect["errors"]["codes"] = dialect["errors"].get("codes", {}) | self.errors
        common = {"base_url": self.base_url, "timezone": self.timezone, "timeouts": self.timeouts}
        return HttpJsonSettings.model_validate(common | dialect)


class PresetCredentials(Credentials):
    """As whom the carrier is asked; each carrier names its own fields."""

    def as_http_json(self) -> HttpJsonCredentials:
        """Return them as http_json takes them."""
        raise NotImplementedError


class UserAndPassword(PresetCredentials):
    """For carriers that are asked with a name and a secret."""

    user: str = Field(title="User", min_length=1)
    password: SecretStr = Field(title="Password", min_length=1)

    def as_http_json(self) -> HttpJsonCredentials:
        return HttpJsonCredentials(user=self.user, password=self.password)


class Key(PresetCredentials):
    """For carriers that are asked with a single secret."""

    key: SecretStr = Field(title="Key", min_length=1)

    def as_http_json(self) -> HttpJsonCredentials:
        return HttpJsonCredentials(key=self.key)


def open_preset(
    settings: PresetSettings,
    credentials: PresetCredentials,
    http: aiohttp.ClientSession,
    gate: Gate,
    shared: TokenStore | None = None,
) -> HttpJson:
    """Return the gateway of an account: what the kinds of these carriers are made with.

    Raises:
        BadAddress: the address may not be called any more.
    """
    return HttpJson(settings.as_http_json(), credentials.as_http_json(), http, gate, shared)

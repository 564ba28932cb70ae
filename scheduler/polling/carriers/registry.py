"""The gateways by their names, and an account's settings and credentials for them, read and checked."""

from collections.abc import Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import Any

import aiohttp
from pydantic import BaseModel, ValidationError

from scheduler.polling.carriers.base import AccountSettings, Credentials, Gate, Gateway, GatewayKind
from scheduler.polling.carriers.ctwing import CTWING
from scheduler.polling.carriers.emnify import EMNIFY
from scheduler.polling.carriers.http_json import HTTP_JSON
from scheduler.polling.carriers.jasper import JASPER
from scheduler.polling.carriers.one_nce import ONE_NCE
from scheduler.polling.carriers.onelink import ONELINK
from scheduler.polling.carriers.telnyx import TELNYX
from scheduler.polling.carriers.tokens import TokenStore
from scheduler.polling.carriers.tuya import TUYA
from scheduler.polling.carriers.unicom import UNICOM
from scheduler.polling.states import CheckType

KINDS: Mapping[str, GatewayKind] = MappingProxyType(
    {
        kind.name: kind
        for kind in (
            HTTP_JSON,
            JASPER,
            ONE_NCE,
            EMNIFY,
            TELNYX,
            ONELINK,
            CTWING,
            UNICOM,
            TUYA,
        )
    }
)


class BadSettings(ValueError):
    """An account that cannot be asked.

    Attributes:
        problems: a sentence for each field that is wrong, by its place, such as `settings.checks.usage.path`. No value
            that was typed is in them.
    """

    def __init__(self, problems: Mapping[str, str]) -> None:
        super().__init__(" ".join(f"{place}: {sentence}" for place, sentence in problems.items()))
        self.problems = problems


@dataclass(frozen=True, slots=True)
class Access:
    """An account as its gateway takes it. Its text shows no secret."""

    kind: GatewayKind
    settings: AccountSettings
    credentials: Credentials

    def open(self, http: aiohttp.ClientSession, gate: Gate, shared: TokenStore | None = None) -> Gateway:
        """Return the gateway of the account.

        Args:
            shared: keeps the account's token for all processes, where its carrier needs that; None: each has its own.

        Raises:
            BadAddress: an address in its settings may not be called any more.
        """
        return self.kind.make(self.settings, self.credentials, http, gate, shared)


def kind_of(name: str) -> GatewayKind:
    """Return the gateway's kind.

    Raises:
        BadSettings: there is none of that name.
    """
    if name not in KINDS:
        raise BadSettings({"gateway": f"There is no such gateway: choose one of {', '.join(KINDS)}."})
    return KINDS[name]


def read_access(gateway: str, settings: Mapping[str, Any], credentials: Mapping[str, Any]) -> Access:
    """Return the account's access: what is looked at when it is saved, and again when it is used.

    Raises:
        BadSettings: with a sentence for every field that is wrong.
    """
    kind = kind_of(gateway)
    problems: dict[str, str] = {}
    read_settings = _read(kind.settings, settings, "settings", problems)
    read_credentials = _read(kind.credentials, credentials, "credentials", problems)
    if read_settings is not None and read_credentials is not None:
        problems |= {
            f"credentials.{name}": text for name, text in kind.lacking(read_settings, read_credentials).items()
        }
    if problems or read_settings is None or read_credentials is None:
        raise BadSettings(problems)
    return Access(kind, read_settings, read_credentials)


def checks_of(gateway: str, settings: Mapping[str, Any]) -> frozenset[CheckType]:
    """Return which checks an account with these settings can make.

    Raises:
        BadSettings: with a sentence for every field that is wrong.
    """
    problems: dict[str, str] = {}
    read: AccountSettings | None = _read(kind_of(gateway).settings, settings, "settings", problems)
    if read is None:
        raise BadSettings(problems)
    return read.supported


def _read(model: type[BaseModel], values: Mapping[str, Any], place: str, problems: dict[str, str]) -> Any:
    try:
        return model.model_validate(values)
    except ValidationError as error:
        for fault in error.errors(include_input=False, include_url=False):
            problems[".".join(map(str, (place, *fault["loc"])))] = _sentence(fault["type"], fault["msg"])
    return None


def _sentence(kind: str, message: str) -> str:
    if kind == "missing":
        return "It is missing. Fill it in."
    if kind == "extra_forbidden":
        return "There is no such field here. Correct its name, or remove it."
    return f"{message.removesuffix('.')}."

"""China Unicom's gateway for the Internet of things, which says everything of up to 50 cards in one answer."""

import hashlib
import secrets
from datetime import datetime
from functools import partial
from typing import Any, Literal

from cryptography.exceptions import UnsupportedAlgorithm
from cryptography.hazmat.primitives.hashes import SM3, Hash
from django.utils.translation import gettext_noop
from pydantic import Field, SecretStr, field_validator

from quotas.ratelimit import Window
from scheduler.polling.carriers.base import GatewayKind, refusal
from scheduler.polling.carriers.client import Client
from scheduler.polling.carriers.http_json.authorizing import Authorization, Pass, Standing
from scheduler.polling.carriers.http_json.credentials import HttpJsonCredentials
from scheduler.polling.carriers.http_json.drafts import Draft
from scheduler.polling.carriers.http_json.presets import PresetCredentials, PresetSettings
from scheduler.polling.carriers.http_json.settings import BaseAddress
from scheduler.polling.carriers.http_json.signing import signed
from scheduler.polling.carriers.judging import Judge
from scheduler.polling.carriers.tokens import TokenStore
from scheduler.polling.carriers.wall_clock import CHINA, now_in
from scheduler.polling.states import CardState, CheckType, ErrorClass, RealName

STATES = {
    "0": CardState.TESTING,
    "1": CardState.READY,
    "2": CardState.ACTIVE,
    "3": CardState.STOPPED,
    "4": CardState.EXPIRED,
    "5": CardState.CANCELLED,
    "6": CardState.CANCELLED,  # replaced by another card
    "7": CardState.STOCK,
    "8": CardState.READY,
    "9": CardState.STOPPED,  # about to be cancelled
}
REAL_NAMES = {
    "0": RealName.NOT_NEEDED,
    "1": RealName.NEEDED,
    "2": RealName.VERIFIED,
    "3": RealName.VERIFIED,
}
# The card is so already, which is as good as accepted.
OF_A_CHANGE = {"1193": ErrorClass.PENDING}
ACTIVATED, STOPPED = "2", "3"
STATE_OF_THE_CARD = "3"
MOST_OF_A_BATCH = 50
TERMINALS = {"list": "data.terminals", "id": "iccid"}


class UnicomSettings(PresetSettings):
    """An account at China Unicom."""

    checks = frozenset(CheckType)

    base_url: BaseAddress = Field(
        default="https://gwapi.10646.cn/api", title="Address", description=gettext_noop("What all paths stand behind.")
    )
    timezone: str = Field(default="Asia/Shanghai", title="Time zone", description=gettext_noop("Of the billing cycle."))
    token: Literal["sm3", "sha256"] = Field(
        default="sm3",
        title="Token",
        description=gettext_noop(
            "How it is calculated: sm3 of names and values, sha256 of values. The carrier's tool shows which."
        ),
    )
    version: str = Field(default="1.0", title="Version", description=gettext_noop("Of the messages."), min_length=1)

    @field_validator("token")
    @classmethod
    def _can_be_calculated(cls, name: str) -> str:
        if name == "sm3" and not has_sm3():
            raise refusal(
                "SM3 is missing in the OpenSSL that Python's package cryptography was built with: install its wheel"
                " from PyPI, which brings one with it, or write sha256 if the carrier takes that for your account"
            )
        return name

    def dialect(self) -> dict[str, Any]:
        details = self._details()
        return {
            "checks": {check.value: details for check in CheckType},
            "stop": _change(STOPPED),
            "resume": _change(ACTIVATED),
            "errors": {
                # The gateway's own code, unless it let the request through; a card of a list has none.
                "code": "data.resultCode || !simStatus && status || `null`",
                "message": "data.resultDesc || message",
                "success": ["0000"],
                "endpoints": {endpoint: {"codes": OF_A_CHANGE} for endpoint in ("stop", "resume")},
            },
        }

    def _details(self) -> dict[str, Any]:
        fields = {
            "state": "simStatus",
            "states": STATES | self.states,
            "real_name": "realNameStatus",
            "real_names": REAL_NAMES,
            "used": "monthToDateDataUsage",
            "unit": "MB",
            "package": "ratePlan",
        }
        call = {"method": "POST", "path": "/wsGetTerminalDetails/V1/1Main/vV1.1"}
        many = call | TERMINALS | {"body": {"iccids": "{iccids}"}, "size": MOST_OF_A_BATCH}
        return call | {"body": {"iccids": ["{iccid}"]}, "among": TERMINALS, "fields": fields, "batch": many}


class UnicomCredentials(PresetCredentials):
    """An application of the account."""

    app_id: str = Field(title="app_id", description=gettext_noop("Of the application."), min_length=1)
    app_secret: SecretStr = Field(title="app_secret", description=gettext_noop("Of the application."), min_length=1)
    open_id: str = Field(
        title="openId", description=gettext_noop("Of the customer, whose cards they are."), min_length=1
    )

    def as_http_json(self) -> HttpJsonCredentials:
        return HttpJsonCredentials(user=self.app_id, password=self.app_secret)


def has_sm3() -> bool:
    """Tell whether SM3 can be calculated here."""
    try:
        Hash(SM3())
    except UnsupportedAlgorithm:
        return False
    return True


def _authorizing(
    settings: UnicomSettings, credentials: UnicomCredentials, client: Client, judge: Judge, shared: TokenStore | None
) -> Authorization:
    return Standing(Pass(partial(_with_token, settings, credentials)))


def _with_token(settings: UnicomSettings, credentials: UnicomCredentials, drafted: Draft) -> Draft:
    now = now_in(CHINA)
    asked = {
        "app_id": credentials.app_id,
        "timestamp": f"{now:%Y-%m-%d %H:%M:%S} {_milliseconds(now)}",
        "trans_id": f"{now:%Y%m%d%H%M%S}{_milliseconds(now)}{secrets.randbelow(10**6):06d}",
    }
    token = _TOKENS[settings.token](asked, credentials.app_secret.get_secret_value())
    customer = {"messageId": asked["trans_id"], "openId": credentials.open_id, "version": settings.version}
    return drafted.with_document({**asked, "token": token, "data": drafted.document | customer})


def _milliseconds(instant: datetime) -> str:
    return f"{instant.microsecond // 1000:03d}"


def _sm3(asked: dict[str, str], secret: str) -> str:
    digest = Hash(SM3())
    digest.update(("".join(name + value for name, value in asked.items()) + secret).encode())
    return digest.finalize().hex()


def _sha256(asked: dict[str, str], secret: str) -> str:
    return hashlib.sha256(("".join(asked.values()) + secret).encode()).hexdigest()


def _change(state: str) -> dict[str, Any]:
    body = {"iccid": "{iccid}", "changeType": STATE_OF_THE_CARD, "targetValue": state, "asynchronous": "0"}
    return {"method": "POST", "path": "/wsEditTerminal/V1/1Main/vV1.1", "body": body}


_TOKENS = {"sm3": _sm3, "sha256": _sha256}
UNICOM = GatewayKind(
    name="unicom",
    label="China Unicom",
    settings=UnicomSettings,
    credentials=UnicomCredentials,
    make=signed(_authorizing),
    windows=(Window(5, 1),),  # it publishes none; of what others do, the least
)

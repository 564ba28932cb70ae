"""China Mobile OneLink, version 5 of its API. Each new token ends the one before, so all processes share one."""

import secrets
from functools import partial
from typing import Any, Literal

from django.utils.translation import gettext_noop
from pydantic import Field, SecretStr

from quotas.ratelimit import Window
from scheduler.polling.carriers.base import GatewayKind
from scheduler.polling.carriers.client import Client
from scheduler.polling.carriers.documents import Expression
from scheduler.polling.carriers.http_json.authorizing import Authorization, ByToken, fetched_token
from scheduler.polling.carriers.http_json.credentials import HttpJsonCredentials
from scheduler.polling.carriers.http_json.drafts import NOTHING, Draft
from scheduler.polling.carriers.http_json.presets import PresetCredentials, PresetSettings
from scheduler.polling.carriers.http_json.settings import BaseAddress
from scheduler.polling.carriers.http_json.signing import signed
from scheduler.polling.carriers.judging import Judge
from scheduler.polling.carriers.tokens import Token, TokenKeeper, TokenStore
from scheduler.polling.carriers.wall_clock import CHINA, now_in
from scheduler.polling.states import CardState, CheckType, ErrorClass, RealName

# Two platforms with words of their own: PB writes two digits, CT one.
STATES = {
    "00": CardState.ACTIVE,
    "01": CardState.STOPPED,  # calls out only
    "02": CardState.STOPPED,
    "03": CardState.STOPPED,  # about to be cancelled
    "04": CardState.CANCELLED,
    "05": CardState.CANCELLED,  # has passed to another owner
    "06": CardState.DORMANT,
    "07": CardState.READY,
    "1": CardState.READY,
    "2": CardState.ACTIVE,
    "4": CardState.STOPPED,
    "6": CardState.TESTING,
    "7": CardState.STOCK,
    "8": CardState.STOPPED,  # about to be cancelled
    "9": CardState.CANCELLED,
}
NO_SUCH_NUMBER = "99"
CODES = {
    "11011": ErrorClass.CARD_MISSING,
    "12004": ErrorClass.AUTH,
    "12009": ErrorClass.CARD_NOT_OWNED,
    "12010": ErrorClass.CARD_MISSING,
    "12021": ErrorClass.TOKEN_EXPIRED,
    "12022": ErrorClass.AUTH,
    "12089": ErrorClass.STATE_FORBIDS,
    "12098": ErrorClass.STATE_FORBIDS,  # somebody else stopped the card
    "12099": ErrorClass.STATE_FORBIDS,  # its package has ended
    "12100": ErrorClass.QUOTA_EXHAUSTED,
    NO_SUCH_NUMBER: ErrorClass.CARD_MISSING,
}
REAL_NAMES = {"1": RealName.VERIFIED, "0": RealName.NEEDED}
STOP, RESUME = "0", "1"
MOST_OF_A_BATCH = 100
MARGINS = "result[0].accmMarginList[*]"


class OneLinkSettings(PresetSettings):
    """An account at OneLink."""

    checks = frozenset(CheckType)

    base_url: BaseAddress = Field(
        default="https://api.iot.10086.cn/v5", title="Address", description=gettext_noop("What all paths stand behind.")
    )
    timezone: str = Field(default="Asia/Shanghai", title="Time zone", description=gettext_noop("Of the billing cycle."))
    number: Literal["iccid", "msisdn", "imsi"] = Field(
        default="iccid", title="Number", description=gettext_noop("By which of its numbers a card is asked for.")
    )
    platform: Literal["PB", "CT", "both"] = Field(
        default="both",
        title="Platform",
        description=gettext_noop(
            "Of the cards. Asked for by itself, usage of PB is as of midnight and that of CT as of now."
        ),
    )
    usage_by: Literal["batch", "card"] = Field(
        default="batch",
        title="Usage by",
        description=gettext_noop(
            "batch: of 100 cards in a call, as of midnight; card: each by itself, of CT cards as of now."
        ),
    )

    def dialect(self) -> dict[str, Any]:
        return {
            "checks": {
                "card_status": self._check(
                    "/ec/query/sim-status", state="result[0].cardStatus", states=STATES | self.states
                ),
                "real_name": self._check(
                    "/ec/query/sim-real-name-status", real_name="result[0].realNameStatus", real_names=REAL_NAMES
                ),
                "package": self._check(
                    "/ec/query/sim-data-margin",
                    package=f"join(' + ', {MARGINS}.offeringName) || {MARGINS} == `[]` && 'none' || `null`",
                    allowance=f"sum({MARGINS}.to_number(totalAmount))",
                    unit="KB",
                ),
                "usage": self._usage(),
            },
            "stop": self._change(STOP),
            "resume": self._change(RESUME),
            "errors": {
                # A state among the answers of success says that there is no such card.
                "code": f"result[0].cardStatus == '{NO_SUCH_NUMBER}' && '{NO_SUCH_NUMBER}' || status",
                "message": "message",
                "success": ["0"],
                "codes": CODES,
            },
        }

    def _usage(self) -> dict[str, Any]:
        of_midnight = self.platform == "PB"
        alone = self._check(
            "/ec/query/sim-data-usage", used="result[0].dataAmount", unit="KB", as_of_midnight=of_midnight
        )
        return alone if self.usage_by == "card" else alone | {"batch": self._month_of_many()}

    def _month_of_many(self) -> dict[str, Any]:
        return {
            "method": "POST",
            "path": "/ec/query/sim-data-usage-monthly/batch",
            "body": {f"{self.number}s": f"{{{self.number}s}}", "queryDate": "{month}"},
            "size": MOST_OF_A_BATCH,
            "list": "result[0].dataAmountList",
            "id": self.number,
            "fields": {"used": "dataAmount", "unit": "KB", "as_of_midnight": True},
        }

    def _check(self, path: str, **fields: Any) -> dict[str, Any]:
        return {"method": "POST", "path": path, "body": {self.number: f"{{{self.number}}}"}, "fields": fields}

    def _change(self, operation: str) -> dict[str, Any]:
        body = {self.number: f"{{{self.number}}}", "operType": operation}
        return {"method": "POST", "path": "/ec/change/sim-status", "body": body}


class OneLinkCredentials(PresetCredentials):
    """An application of the account."""

    appid: str = Field(
        title="appid", description=gettext_noop("Of the application, as the carrier told it."), min_length=1
    )
    password: SecretStr = Field(title="Password", description=gettext_noop("Of the application."), min_length=1)

    def as_http_json(self) -> HttpJsonCredentials:
        return HttpJsonCredentials(user=self.appid, password=self.password)


def _authorizing(
    settings: OneLinkSettings, credentials: OneLinkCredentials, client: Client, judge: Judge, shared: TokenStore | None
) -> Authorization:
    fetch = partial(_fetch, credentials, client, judge)
    return ByToken(TokenKeeper(fetch, shared), partial(_with_token, credentials.appid), judge.secrets)


async def _fetch(credentials: OneLinkCredentials, client: Client, judge: Judge) -> Token:
    asked = {"appid": credentials.appid, "password": credentials.password.get_secret_value()}
    drafted = Draft("token", "POST", "/ec/get/token", NOTHING, NOTHING, None)
    drafted = drafted.with_document(asked | {"transid": _transid(credentials.appid)})
    return await fetched_token(drafted, client, judge, Expression("result[0].token"), Expression("result[0].ttl"))


def _with_token(appid: str, drafted: Draft, token: str) -> Draft:
    """Return the request with the token, in its body: addresses stand in logs. Many numbers become one text."""
    asked = {name: "_".join(value) if isinstance(value, list) else value for name, value in drafted.document.items()}
    return drafted.with_document(asked | {"transid": _transid(appid), "token": token})


def _transid(appid: str) -> str:
    """Return a number of its own for a request: application, second in China, eight digits."""
    return f"{appid}{now_in(CHINA):%Y%m%d%H%M%S}{secrets.randbelow(10**8):08d}"


ONELINK = GatewayKind(
    name="onelink",
    label="China Mobile OneLink",
    settings=OneLinkSettings,
    credentials=OneLinkCredentials,
    make=signed(_authorizing),
    windows=(Window(5, 1),),  # it publishes none; of what others do, the least
)

"""The IoT SIM cards of Tuya, a cloud that sells cards of several carriers."""

import hashlib
import hmac
from datetime import UTC
from functools import partial
from typing import Any, Literal
from uuid import uuid4

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
from scheduler.polling.carriers.wall_clock import now_in
from scheduler.polling.states import CardState, CheckType, ErrorClass, RealName

STATES = {"0": CardState.READY, "1": CardState.ACTIVE, "2": CardState.STOPPED}
REAL_NAMES = {"AUTH_SUCCESS": RealName.VERIFIED, "AUTH_FAIL": RealName.NEEDED}
# What stands for a refusal that has no code.
REFUSED = "refused"
CODES = {
    "500": ErrorClass.SERVER,
    "1000": ErrorClass.CARD_MISSING,
    "1001": ErrorClass.AUTH,
    "1002": ErrorClass.TOKEN_EXPIRED,
    "1003": ErrorClass.AUTH,
    "1004": ErrorClass.AUTH,
    "1005": ErrorClass.AUTH,
    "1008": ErrorClass.AUTH,
    "1010": ErrorClass.TOKEN_EXPIRED,
    "1011": ErrorClass.TOKEN_EXPIRED,
    "1012": ErrorClass.TOKEN_EXPIRED,
    "1013": ErrorClass.AUTH,  # our clock and theirs are apart
    "1106": ErrorClass.CARD_NOT_OWNED,
    "1110": ErrorClass.THROTTLED,
    "1111": ErrorClass.SERVER,
    "28841002": ErrorClass.AUTH,  # the subscription of the project has ended
    "28841101": ErrorClass.AUTH,  # the project has not subscribed to the API
    "28841105": ErrorClass.AUTH,
}
OF_A_CHANGE = {REFUSED: ErrorClass.STATE_FORBIDS}
# Plans that are counted by how often the card is used have no amounts of data.
PLANS, NONE = "result[?unit=='MB']", "result == `[]`"


class TuyaSettings(PresetSettings):
    """A cloud project at Tuya."""

    checks = frozenset(CheckType)

    base_url: BaseAddress = Field(
        default="https://openapi.tuyacn.com",
        title="Address",
        description=gettext_noop(
            "Of the data center of the project, without a path, such as https://openapi.tuyaeu.com."
        ),
    )
    unit: Literal["MB", "KB"] = Field(
        default="MB",
        title="Unit",
        description=gettext_noop(
            "Of amounts. Tuya says MB, but its example has 10000 for a plan of 10 MB: compare the console."
        ),
    )

    def dialect(self) -> dict[str, Any]:
        return {
            "checks": {
                "card_status": _check("status", state="result.status", states=STATES | self.states),
                "real_name": _check("auth", real_name="result", real_names=REAL_NAMES),
                "package": _check("package/list", package=f"result[0].package_name || {NONE} && 'none' || `null`"),
                "usage": _check(
                    "resources/list",
                    used=f"{PLANS} && sum({PLANS}.traffic_used) || {NONE} && `0` || `null`",
                    allowance=f"{PLANS} && sum({PLANS}.traffic_usable) || `null`",
                    unit=self.unit,
                ),
            },
            "stop": _change("MANAGE_STOP"),
            "resume": _change("MANAGE_RESUME"),
            "errors": {
                "code": f"code || (success == `false` || result == `false`) && '{REFUSED}' || `null`",
                "message": "msg",
                "codes": CODES,
                "endpoints": {endpoint: {"codes": OF_A_CHANGE} for endpoint in ("stop", "resume")},
            },
        }


class TuyaCredentials(PresetCredentials):
    """The authorization key of a cloud project."""

    client_id: str = Field(
        title="Access ID", description=gettext_noop("Of the project, also called client_id."), min_length=1
    )
    secret: SecretStr = Field(title="Access secret", description=gettext_noop("Of the project."), min_length=1)

    def as_http_json(self) -> HttpJsonCredentials:
        return HttpJsonCredentials(user=self.client_id, password=self.secret)


def _authorizing(
    settings: TuyaSettings, credentials: TuyaCredentials, client: Client, judge: Judge, shared: TokenStore | None
) -> Authorization:
    fetch = partial(_fetch, credentials, client, judge)
    return ByToken(TokenKeeper(fetch, shared), partial(_with_signature, credentials), judge.secrets)


async def _fetch(credentials: TuyaCredentials, client: Client, judge: Judge) -> Token:
    drafted = Draft("token", "GET", "/v1.0/token", {"grant_type": "1"}, NOTHING, None)
    drafted = _with_signature(credentials, drafted)
    return await fetched_token(
        drafted, client, judge, Expression("result.access_token"), Expression("result.expire_time")
    )


def _with_signature(credentials: TuyaCredentials, drafted: Draft, token: str = "") -> Draft:
    """Return the request signed: over who asks, when, and method, body and address."""
    timestamp, nonce = str(int(now_in(UTC).timestamp() * 1000)), uuid4().hex
    body = hashlib.sha256(drafted.body or b"").hexdigest()
    signed_text = "\n".join((drafted.method, body, "", drafted.request().path))
    text = f"{credentials.client_id}{token}{timestamp}{nonce}{signed_text}"
    sign = hmac.new(credentials.secret.get_secret_value().encode(), text.encode(), hashlib.sha256).hexdigest()
    headers = {
        "client_id": credentials.client_id,
        "t": timestamp,
        "nonce": nonce,
        "sign_method": "HMAC-SHA256",
        "sign": sign.upper(),
    }
    return drafted.with_more(headers | ({"access_token": token} if token else {}))


def _check(what: str, **fields: Any) -> dict[str, Any]:
    return {"path": f"/v1.0/iot-01/sim/{{iccid}}/{what}", "fields": fields}


def _change(operation: str) -> dict[str, Any]:
    body = {"iccid": "{iccid}", "operate_type": operation}
    return {"method": "PUT", "path": "/v1.0/iot-01/sim/enable", "body": body}


TUYA = GatewayKind(
    name="tuya",
    label="Tuya IoT SIM",
    settings=TuyaSettings,
    credentials=TuyaCredentials,
    make=signed(_authorizing),
    windows=(Window(5, 1),),  # it publishes none for cards; of what others do, the least
)

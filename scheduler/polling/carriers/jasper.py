"""Cisco IoT Control Center, which was Jasper: the platform behind many operators."""

from typing import Any

from django.utils.translation import gettext_noop
from pydantic import Field, SecretStr

from quotas.ratelimit import Window
from scheduler.polling.carriers.base import GatewayKind
from scheduler.polling.carriers.http_json.credentials import HttpJsonCredentials
from scheduler.polling.carriers.http_json.presets import PresetCredentials, PresetSettings, open_preset
from scheduler.polling.carriers.http_json.settings import BaseAddress
from scheduler.polling.states import CardState, CheckType, ErrorClass

ACTIVATED, DEACTIVATED = "ACTIVATED", "DEACTIVATED"
STATES = {
    ACTIVATED: CardState.ACTIVE,
    DEACTIVATED: CardState.STOPPED,
    "ACTIVATION_READY": CardState.READY,
    "TEST_READY": CardState.TESTING,
    "INVENTORY": CardState.STOCK,
    "RETIRED": CardState.CANCELLED,
    "PURGED": CardState.CANCELLED,
    "REPLACED": CardState.CANCELLED,
}
CODES = {
    "10000001": ErrorClass.AUTH,  # also for callers outside the allowed range of addresses
    "10000030": ErrorClass.AUTH,  # the role may not use the function
    "20000001": ErrorClass.CARD_MISSING,
    "30000001": ErrorClass.SERVER,
    "40000029": ErrorClass.THROTTLED,
}


class JasperSettings(PresetSettings):
    """An account at Control Center."""

    checks = frozenset({CheckType.CARD_STATUS, CheckType.USAGE, CheckType.PACKAGE})

    base_url: BaseAddress = Field(
        title="Address",
        description=gettext_noop(
            "At the host of the API, not that of the pages: https://restapi3.jasper.com/rws/api/v1 or alike."
        ),
    )
    stopped_status: str = Field(
        default=DEACTIVATED,
        title="Status of stopped cards",
        description=gettext_noop(
            "What a card is set to when it is stopped, where the operator has a status of its own for that."
        ),
        min_length=1,
    )

    def dialect(self) -> dict[str, Any]:
        states = STATES | {self.stopped_status: CardState.STOPPED} | self.states
        device = {"path": "/devices/{iccid}", "fields": {"state": "status", "states": states, "package": "ratePlan"}}
        return {
            "auth": {"kind": "basic"},
            "checks": {
                "card_status": device,
                "package": device,
                "usage": {
                    "path": "/devices/{iccid}/ctdUsages",
                    "fields": {"used": "ctdDataUsage", "unit": "B", "package": "ratePlan"},
                },
            },
            "stop": _change(self.stopped_status),
            "resume": _change(ACTIVATED),
            "errors": {
                "code": "errorCode",
                "message": "errorMessage",
                "codes": CODES,
                # Without the code for cards it is the address: the host of the pages answers so, in HTML.
                "statuses": {404: ErrorClass.MALFORMED},
            },
        }


class JasperCredentials(PresetCredentials):
    """A user of Control Center, who may use the API."""

    user: str = Field(title="User", description=gettext_noop("The name of a user of the account."), min_length=1)
    key: SecretStr = Field(
        title="API key", description=gettext_noop("That user's own key, not the password."), min_length=1
    )

    def as_http_json(self) -> HttpJsonCredentials:
        return HttpJsonCredentials(user=self.user, password=self.key)


def _change(status: str) -> dict[str, Any]:
    return {"method": "PUT", "path": "/devices/{iccid}", "body": {"status": status}}


JASPER = GatewayKind(
    name="jasper",
    label="Cisco Control Center (Jasper)",
    settings=JasperSettings,
    credentials=JasperCredentials,
    make=open_preset,
    windows=(Window(5, 1),),
    concurrency=1,
)

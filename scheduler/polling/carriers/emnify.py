"""emnify: it knows its cards by numbers of its own, which are looked up by the ICCID."""

from typing import Any

from django.utils.translation import gettext_noop
from pydantic import Field, SecretStr

from quotas.ratelimit import Window
from scheduler.polling.carriers.base import GatewayKind
from scheduler.polling.carriers.http_json.presets import Key, PresetSettings, open_preset
from scheduler.polling.carriers.http_json.settings import BaseAddress
from scheduler.polling.states import CardState, CheckType, ErrorClass

ISSUED, ACTIVATED, SUSPENDED, DELETED, FACTORY_TEST = range(5)
STATES = {
    str(ISSUED): CardState.READY,
    str(ACTIVATED): CardState.ACTIVE,
    str(SUSPENDED): CardState.STOPPED,
    str(DELETED): CardState.CANCELLED,
    str(FACTORY_TEST): CardState.TESTING,
}
TOO_MANY = "TooManyRequests"
# For so long nobody can sign in after three attempts that failed; the answer has the status of bad credentials.
LOCKED_OUT_SECONDS = 300
# What is sent is always the same, so it can only be the card's state that they refuse.
OF_THE_STATE = {400: ErrorClass.STATE_FORBIDS, 422: ErrorClass.STATE_FORBIDS}
SEARCH = {"path": "/sim", "query": {"q": "iccid:{iccid19}"}}
LISTED = {"list": "@", "id": "iccid"}
# One document or a list of one. Months without traffic are left out of it.
STATS = "([0] || @)"
DATA = f"{STATS}.current_month.data"


class EmnifySettings(PresetSettings):
    """A workspace at emnify."""

    checks = frozenset({CheckType.CARD_STATUS, CheckType.USAGE})

    base_url: BaseAddress = Field(
        default="https://cdn.emnify.net/api/v1",
        title="Address",
        description=gettext_noop("What all paths stand behind."),
    )

    def dialect(self) -> dict[str, Any]:
        return {
            "auth": {
                "kind": "token",
                "request": {"path": "/authenticate", "body": {"application_token": "{key}"}},
                "token": "auth_token",
                "lifetime": None,
            },
            "lookup": SEARCH | LISTED | {"found": "id"},
            "checks": {
                "card_status": SEARCH
                | {"among": LISTED, "fields": {"state": "status.id", "states": STATES | self.states}},
                "usage": {"path": "/sim/{carrier_id}/stats", "fields": _USAGE},
            },
            "stop": _change(SUSPENDED),
            "resume": _change(ACTIVATED),
            "errors": {
                "code": "error_token",
                "message": "message",
                "codes": {TOO_MANY: ErrorClass.THROTTLED},
                "endpoints": {
                    "token": {"waits": {TOO_MANY: LOCKED_OUT_SECONDS}},
                    "stop": {"statuses": OF_THE_STATE},
                    "resume": {"statuses": OF_THE_STATE},
                },
            },
        }


_USAGE = {
    "used": f"{DATA}.volume || (contains(keys({STATS}), 'last_hour') && `0`)",
    "unit": "MB",
    "unit_at": f"{DATA}.traffic_type.unit",
    "thousand": 1000,
    "as_of": f"{DATA}.last_updated",
}


class EmnifyCredentials(Key):
    """An application of the workspace."""

    key: SecretStr = Field(
        title="Application token",
        description=gettext_noop("As the portal shows it once, not a token of a session."),
        min_length=1,
    )


def _change(status: int) -> dict[str, Any]:
    return {"method": "PATCH", "path": "/sim/{carrier_id}", "body": {"status": {"id": status}}}


EMNIFY = GatewayKind(
    name="emnify",
    label="emnify",
    settings=EmnifySettings,
    credentials=EmnifyCredentials,
    make=open_preset,
    windows=(Window(10, 1), Window(2000, 300)),  # of its statistics, and of an IP address
)

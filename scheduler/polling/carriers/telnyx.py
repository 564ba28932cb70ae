"""Telnyx: changes are actions that are accepted and done later."""

from typing import Any, Literal

from django.utils.translation import gettext_noop
from pydantic import Field, SecretStr

from quotas.ratelimit import Window
from scheduler.polling.carriers.base import GatewayKind
from scheduler.polling.carriers.http_json.presets import Key, PresetSettings, open_preset
from scheduler.polling.carriers.http_json.settings import BaseAddress
from scheduler.polling.states import CardState, CheckType, ErrorClass

# A card that is about to change is what it was until it is done.
STATES = {
    "registering": CardState.READY,
    "enabling": CardState.STOPPED,
    "enabled": CardState.ACTIVE,
    "disabling": CardState.ACTIVE,
    "disabled": CardState.STOPPED,
    "setting_standby": CardState.ACTIVE,
    "standby": CardState.STOPPED,
    "data_limit_exceeded": CardState.STOPPED,
    "unauthorized_imei": CardState.STOPPED,
}
CODES = {
    "10005": ErrorClass.CARD_MISSING,
    "10007": ErrorClass.SERVER,
    "10008": ErrorClass.TIMEOUT,
    "10009": ErrorClass.AUTH,
    "10010": ErrorClass.AUTH,
    "10011": ErrorClass.THROTTLED,
    "70000": ErrorClass.STATE_FORBIDS,  # the data limit is reached
    "70004": ErrorClass.COOLDOWN,  # an update over the air is under way
    "70007": ErrorClass.STATE_FORBIDS,  # no card is enabled without a group
}
# The search finds similar numbers as well.
SEARCH = {"path": "/sim_cards", "query": {"filter[iccid]": "{iccid}", "include_sim_card_group": "true"}}
LISTED = {"list": "data", "id": "iccid"}
USED, LIMIT = "current_billing_period_consumed_data", "data_limit"


class TelnyxSettings(PresetSettings):
    """An account at Telnyx."""

    checks = frozenset({CheckType.CARD_STATUS, CheckType.USAGE, CheckType.PACKAGE})

    base_url: BaseAddress = Field(
        default="https://api.telnyx.com/v2", title="Address", description=gettext_noop("What all paths stand behind.")
    )
    stop_by: Literal["disable", "set_standby"] = Field(
        default="disable", title="Stop by", description=gettext_noop("set_standby keeps the card's IP address.")
    )
    thousand: Literal[1000, 1024] = Field(
        default=1000, title="A KB", description=gettext_noop("How many bytes it has; Telnyx does not publish it.")
    )

    def dialect(self) -> dict[str, Any]:
        return {
            "auth": {"kind": "bearer"},
            "lookup": SEARCH | LISTED | {"found": "id"},
            "checks": {
                "card_status": _check(state="status.value", states=STATES | self.states),
                "usage": _check(
                    used=f"{USED}.amount",
                    unit_at=f"{USED}.unit",
                    allowance=f"{LIMIT}.amount",
                    allowance_unit_at=f"{LIMIT}.unit",
                    thousand=self.thousand,
                ),
                "package": _check(package="sim_card_group.name || sim_card_group_id"),
            },
            "stop": _action(self.stop_by),
            "resume": _action("enable"),
            "errors": {
                "code": "errors[0].code",
                "message": "errors[0].detail || errors[0].title",
                "codes": CODES,
                "endpoints": {endpoint: {"statuses": OF_THE_STATE} for endpoint in ("stop", "resume")},
                "wait_header": "x-ratelimit-reset",
            },
        }


# What is sent is always the same, so it can only be the card's state that is refused.
OF_THE_STATE = {422: ErrorClass.STATE_FORBIDS}


class TelnyxCredentials(Key):
    """A key of the account."""

    key: SecretStr = Field(
        title="API key", description=gettext_noop("Of version 2 of the API; it begins with KEY."), min_length=1
    )


def _check(**fields: Any) -> dict[str, Any]:
    return SEARCH | {"among": LISTED, "fields": fields}


def _action(name: str) -> dict[str, Any]:
    return {"method": "POST", "path": f"/sim_cards/{{carrier_id}}/actions/{name}"}


TELNYX = GatewayKind(
    name="telnyx",
    label="Telnyx",
    settings=TelnyxSettings,
    credentials=TelnyxCredentials,
    make=open_preset,
    windows=(Window(5, 1),),  # it publishes none; of what others do, the least
)

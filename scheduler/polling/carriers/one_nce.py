"""1NCE: cards with a quota for their whole life instead of one for each month."""

from typing import Any, Literal

from django.utils.translation import gettext_noop
from pydantic import Field

from quotas.ratelimit import Window
from scheduler.polling.carriers.base import GatewayKind
from scheduler.polling.carriers.http_json.presets import PresetSettings, UserAndPassword, open_preset
from scheduler.polling.carriers.http_json.settings import BaseAddress
from scheduler.polling.states import CardState, CheckType, ErrorClass

ENABLED, DISABLED = "Enabled", "Disabled"
STATES = {ENABLED: CardState.ACTIVE, DISABLED: CardState.STOPPED}
# 401 is the token; these are about the card: it is another customer's, or its life is over.
OF_THE_CARD = {403: ErrorClass.CARD_NOT_OWNED, 422: ErrorClass.STATE_FORBIDS}


class OneNceSettings(PresetSettings):
    """An account at 1NCE."""

    checks = frozenset({CheckType.CARD_STATUS, CheckType.USAGE})

    base_url: BaseAddress = Field(
        default="https://api.1nce.com/management-api",
        title="Address",
        description=gettext_noop("What all paths stand behind, without the version."),
    )
    version: Literal["v1", "v2"] = Field(
        default="v1",
        title="Version",
        description=gettext_noop("v2 for accounts that were moved to the new platform, else v1."),
    )

    def dialect(self) -> dict[str, Any]:
        sim = f"/{self.version}/sims/{{iccid19}}"
        endpoints = ("card_status", "usage", "stop", "resume")
        return {
            "auth": {
                "kind": "token",
                "request": {"path": "/oauth/token", "body": {"grant_type": "client_credentials"}, "basic": True},
            },
            "checks": {
                "card_status": {"path": sim, "fields": {"state": "status", "states": STATES | self.states}},
                "usage": {
                    "path": f"{sim}/quota/data",
                    "fields": {"left": "volume", "allowance": "total_volume", "unit": "MB", "thousand": 1024},
                },
            },
            "stop": _change(sim, DISABLED),
            "resume": _change(sim, ENABLED),
            "errors": {
                "code": "error_token || errorCode",
                "message": "message",
                "endpoints": {endpoint: {"statuses": OF_THE_CARD} for endpoint in endpoints},
            },
        }


def _change(sim: str, status: str) -> dict[str, Any]:
    return {"method": "PUT", "path": sim, "body": {"iccid": "{iccid19}", "status": status}}


ONE_NCE = GatewayKind(
    name="1nce",
    label="1NCE",
    settings=OneNceSettings,
    credentials=UserAndPassword,
    make=open_preset,
    windows=(Window(10, 1),),
)

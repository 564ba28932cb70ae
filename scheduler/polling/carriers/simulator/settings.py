"""How the simulated carrier is asked by the gateway http_json."""

from typing import Any

from scheduler.polling.carriers.simulator.accounts import AccountPlan
from scheduler.polling.carriers.simulator.cards import ACTIVE, NEEDED, STOCK, STOPPED, TESTING, VERIFIED
from scheduler.polling.states import CardState, CheckType, ErrorClass, RealName

# What stands where in the answer about one card, below `data`, and in each part of one about many.
FIELDS: dict[CheckType, dict[str, Any]] = {
    CheckType.CARD_STATUS: {
        "state": "status",
        "states": {
            ACTIVE: CardState.ACTIVE,
            STOPPED: CardState.STOPPED,
            TESTING: CardState.TESTING,
            STOCK: CardState.STOCK,
        },
    },
    CheckType.USAGE: {"used": "used", "unit_at": "unit", "as_of": "as_of"},
    CheckType.REAL_NAME: {
        "real_name": "real_name",
        "real_names": {VERIFIED: RealName.VERIFIED, NEEDED: RealName.NEEDED},
    },
    CheckType.PACKAGE: {"package": "package", "allowance": "allowance", "unit_at": "unit"},
}
WHAT = {
    CheckType.CARD_STATUS: "status",
    CheckType.USAGE: "usage",
    CheckType.REAL_NAME: "real-name",
    CheckType.PACKAGE: "package",
}
CODES = {
    "12021": ErrorClass.TOKEN_EXPIRED,
    "12022": ErrorClass.AUTH,
    "42900": ErrorClass.THROTTLED,
    "12100": ErrorClass.QUOTA_EXHAUSTED,
    "12010": ErrorClass.CARD_MISSING,
    "12009": ErrorClass.CARD_NOT_OWNED,
    "12089": ErrorClass.STATE_FORBIDS,
    "12090": ErrorClass.COOLDOWN,
}


def settings_for(url: str, account: str = "main", *, batch: int | None = None, token: bool = False) -> dict[str, Any]:
    """Return the settings of an account for http_json.

    Args:
        url: where the carrier is, such as http://127.0.0.1:8900.
        batch: how many cards are asked for in one call; None: one.
        token: whether it is asked with a token that is fetched, or with its key.
    """
    return {
        "base_url": f"{url}/{account}",
        "auth": _TOKEN_AUTH if token else {"kind": "bearer"},
        "checks": {check.value: _check(check, batch) for check in CheckType},
        "stop": {"method": "POST", "path": "/cards/{iccid}/stop"},
        "resume": {"method": "POST", "path": "/cards/{iccid}/resume"},
        "errors": {"code": "code", "message": "message", "success": ["0"], "codes": CODES},
        "timeouts": {"connect": 5, "read": 10, "total": 15},
    }


def credentials_for(plan: AccountPlan, *, token: bool = False) -> dict[str, str]:
    """Return the credentials of an account for http_json, which fit to the settings of the same `token`."""
    return {"user": plan.name, "password": plan.password} if token else {"key": plan.key}


_TOKEN_AUTH = {
    "kind": "token",
    "request": {"path": "/token", "body": {"user": "{user}", "password": "{password}"}},
    "token": "data.access_token",
    "lifetime": "data.expires_in",
}


def _check(check: CheckType, batch: int | None) -> dict[str, Any]:
    fields = FIELDS[check]
    alone = {name: f"data.{at}" if name not in ("states", "real_names") else at for name, at in fields.items()}
    asked: dict[str, Any] = {"path": f"/cards/{{iccid}}/{WHAT[check]}", "fields": alone}
    if batch is not None:
        asked["batch"] = {
            "method": "POST",
            "path": f"/batch/{WHAT[check]}",
            "body": {"iccids": "{iccids}"},
            "size": batch,
            "list": "data.cards",
            "id": "iccid",
            "fields": fields,
        }
    return asked

"""Every address of the polling's API: what is sent to it, and who may."""

from typing import Any

from scheduler.polling.carriers.simulator import settings_for
from tests.scheduler.polling.admin.desk import CARRIER, KEY
from tests.scheduler.polling.factories import iccid

EVERYBODY, OPERATORS, ADMINISTRATORS = (
    {"viewer", "operator", "administrator"},
    {"operator", "administrator"},
    {"administrator"},
)

REASON = {"reason": "Scrapped"}
OPENED = {"scene": "asset_page_opened"}
NEW_ACCOUNT = {
    "name": "new",
    "gateway": "http_json",
    "settings": settings_for(CARRIER),
    "credentials": {"key": KEY},
}
NEW_CARD = {"iccid": iccid(10**12), "account": "{account}"}
NEW_TIER = {"position": 90, "name": "new"}
TIMEOUT = {"value": 30, **REASON}

TABLE: dict[tuple[str, str], tuple[Any, set[str]]] = {
    ("get", "card-changes/"): (None, EVERYBODY),
    ("get", "card-changes/{change}/"): (None, EVERYBODY),
    ("get", "card-checks/"): (None, EVERYBODY),
    ("get", "card-checks/{check}/"): (None, EVERYBODY),
    ("get", "card-operations/"): (None, EVERYBODY),
    ("get", "card-operations/{operation}/"): (None, EVERYBODY),
    ("post", "card-operations/{operation}/cancel/"): ({}, OPERATORS),
    ("get", "iot-cards/"): (None, EVERYBODY),
    ("get", "iot-cards/{card}/"): (None, EVERYBODY),
    ("post", "iot-cards/"): (NEW_CARD, ADMINISTRATORS),
    ("patch", "iot-cards/{card}/"): ({"reset_day": 7}, ADMINISTRATORS),
    ("post", "iot-cards/{card}/check-now/"): ({"checks": ["usage"]}, OPERATORS),
    ("post", "iot-cards/{card}/move/"): ({"account": "{held}", **REASON}, ADMINISTRATORS),
    ("post", "iot-cards/{card}/delete-card/"): (REASON, ADMINISTRATORS),
    ("get", "iot-cards/{card}/polling-state/"): (None, EVERYBODY),
    ("post", "iot-cards/{card}/polling-off/"): (REASON, ADMINISTRATORS),
    ("post", "iot-cards/{off}/polling-on/"): ({}, ADMINISTRATORS),
    ("post", "iot-cards/{card}/check/"): (OPENED, OPERATORS),
    ("post", "iot-cards/{card}/stop/"): (REASON, OPERATORS),
    ("post", "iot-cards/{card}/resume/"): (REASON, OPERATORS),
    ("post", "iot-cards/import/"): ({"csv": "iccid,account\n"}, ADMINISTRATORS),
    ("get", "iot-devices/"): (None, EVERYBODY),
    ("get", "iot-devices/{device}/"): (None, EVERYBODY),
    ("post", "iot-devices/"): ({"code": "new"}, ADMINISTRATORS),
    ("patch", "iot-devices/{device}/"): ({"name": "Tracker"}, ADMINISTRATORS),
    ("get", "polling-accounts/"): (None, EVERYBODY),
    ("get", "polling-accounts/{account}/"): (None, EVERYBODY),
    ("post", "polling-accounts/"): (NEW_ACCOUNT, ADMINISTRATORS),
    ("patch", "polling-accounts/{account}/"): ({"name": "other"}, ADMINISTRATORS),
    ("post", "polling-accounts/{account}/hold/"): ({"minutes": 5, **REASON}, ADMINISTRATORS),
    ("post", "polling-accounts/{held}/release/"): ({}, ADMINISTRATORS),
    ("post", "polling-accounts/{account}/switch-off/"): (REASON, ADMINISTRATORS),
    ("post", "polling-accounts/{idle}/switch-on/"): ({}, ADMINISTRATORS),
    ("post", "polling-accounts/{account}/rebuild/"): ({}, ADMINISTRATORS),
    ("post", "polling-accounts/{held}/defaults/"): (REASON, ADMINISTRATORS),
    ("post", "polling-accounts/{held}/delete-account/"): (REASON, ADMINISTRATORS),
    ("get", "polling-carrier-params/"): (None, EVERYBODY),
    ("get", "polling-carrier-params/{account}/"): (None, EVERYBODY),
    ("patch", "polling-carrier-params/{account}/"): ({"inflight_limit": 7}, ADMINISTRATORS),
    ("put", "polling-carrier-params/{account}/"): ({"inflight_limit": 7}, ADMINISTRATORS),
    ("delete", "polling-carrier-params/{account}/"): (None, ADMINISTRATORS),
    ("get", "polling-check-requests/"): (None, EVERYBODY),
    ("get", "polling-check-requests/{request}/"): (None, EVERYBODY),
    ("post", "polling-check-requests/"): (OPENED, OPERATORS),
    ("get", "polling-check-scenes/"): (None, EVERYBODY),
    ("get", "polling-check-scenes/{scene}/"): (None, EVERYBODY),
    ("patch", "polling-check-scenes/{scene}/"): ({"cooldown_seconds": 7}, ADMINISTRATORS),
    ("get", "polling-confirmations/"): (None, EVERYBODY),
    ("get", "polling-confirmations/{look}/"): (None, EVERYBODY),
    ("get", "polling-cutovers/"): (None, EVERYBODY),
    ("get", "polling-cutovers/{cutover}/"): (None, EVERYBODY),
    ("post", "polling-cutovers/"): ({"wanted": "legacy"}, ADMINISTRATORS),
    ("get", "polling-failure-alerts/"): (None, EVERYBODY),
    ("get", "polling-failure-alerts/summary/"): (None, EVERYBODY),
    ("get", "polling-failure-alerts/{alert}/"): (None, EVERYBODY),
    ("put", "polling-failure-alerts/{alert}/status/"): ({"status": "acknowledged"}, OPERATORS),
    ("get", "polling-settings/"): (None, EVERYBODY),
    ("get", "polling-settings/{setting}/"): (None, EVERYBODY),
    ("patch", "polling-settings/{unset}/"): (TIMEOUT, ADMINISTRATORS),
    ("post", "polling-settings/{setting}/default/"): (REASON, ADMINISTRATORS),
    ("get", "polling-stats/"): (None, EVERYBODY),
    ("get", "polling-stats/{account}/"): (None, EVERYBODY),
    ("get", "polling-tiers/"): (None, EVERYBODY),
    ("get", "polling-tiers/cards/"): (None, EVERYBODY),
    ("get", "polling-tiers/{tier}/"): (None, EVERYBODY),
    ("post", "polling-tiers/"): (NEW_TIER, ADMINISTRATORS),
    ("patch", "polling-tiers/{tier}/"): ({"name": "other"}, ADMINISTRATORS),
    ("post", "polling-tiers/{tier}/delete-tier/"): (REASON, ADMINISTRATORS),
}

# Of which version a change of these says that it is; of the others there is no row yet.
VERSIONS: dict[str, int | str] = {
    "iot-cards/{card}/": 1,
    "iot-devices/{device}/": "device version",
    "polling-accounts/{account}/": 1,
    "polling-check-scenes/{scene}/": 1,
    "polling-tiers/{tier}/": 1,
}

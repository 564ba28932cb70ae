"""Every address of the polling's API: what is sent to it, and who may."""

from typing import Any

EVERYBODY, OPERATORS, ADMINISTRATORS = (
    {"viewer", "operator", "administrator"},
    {"operator", "administrator"},
    {"administrator"},
)

REASON = {"reason": "Scrapped"}
OPENED = {"scene": "asset_page_opened"}

TABLE: dict[tuple[str, str], tuple[Any, set[str]]] = {
    ("get", "card-operations/"): (None, EVERYBODY),
    ("get", "card-operations/{operation}/"): (None, EVERYBODY),
    ("post", "card-operations/{operation}/cancel/"): ({}, OPERATORS),
    ("get", "iot-cards/"): (None, EVERYBODY),
    ("get", "iot-cards/{card}/"): (None, EVERYBODY),
    ("get", "iot-cards/{card}/polling-state/"): (None, EVERYBODY),
    ("post", "iot-cards/{card}/polling-off/"): (REASON, ADMINISTRATORS),
    ("post", "iot-cards/{off}/polling-on/"): ({}, ADMINISTRATORS),
    ("post", "iot-cards/{card}/check/"): (OPENED, OPERATORS),
    ("post", "iot-cards/{card}/stop/"): (REASON, OPERATORS),
    ("post", "iot-cards/{card}/resume/"): (REASON, OPERATORS),
    ("post", "iot-cards/import/"): ({"csv": "iccid,account\n"}, ADMINISTRATORS),
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
    ("get", "polling-cutovers/"): (None, EVERYBODY),
    ("get", "polling-cutovers/{cutover}/"): (None, EVERYBODY),
    ("post", "polling-cutovers/"): ({"wanted": "legacy"}, ADMINISTRATORS),
    ("get", "polling-failure-alerts/"): (None, EVERYBODY),
    ("get", "polling-failure-alerts/summary/"): (None, EVERYBODY),
    ("get", "polling-failure-alerts/{alert}/"): (None, EVERYBODY),
    ("put", "polling-failure-alerts/{alert}/status/"): ({"status": "acknowledged"}, OPERATORS),
    ("get", "polling-stats/"): (None, EVERYBODY),
    ("get", "polling-stats/{account}/"): (None, EVERYBODY),
}

# Of which version a change of these says that it is; of the others there is no row yet.
VERSIONS = {"polling-check-scenes/{scene}/": 1}

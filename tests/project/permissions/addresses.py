"""Every address of the API and what it needs: written down, not read from the code.

All that is told of rows needs the permission to look at them (`view_`, or `change_`) of the model under which it stands
here; what it needs besides is written behind it.
"""

ADDRESSES: dict[str, dict[str, str]] = {
    "alerts.alert": {
        "get alerts/": "",
        "get alerts/{}/": "",
        "post alerts/{}/acknowledge/": "alerts.handle_alert",
        "post alerts/{}/resolve/": "alerts.handle_alert",
        "post alerts/{}/silence/": "alerts.add_silence",
        "get polling-failure-alerts/": "",
        "get polling-failure-alerts/summary/": "",
        "get polling-failure-alerts/{}/": "",
        "put polling-failure-alerts/{}/status/": "alerts.handle_alert",
    },
    "alerts.channel": {
        "get channels/": "",
        "post channels/": "alerts.add_channel",
        "get channels/{}/": "",
        "patch channels/{}/": "alerts.change_channel",
        "post channels/{}/enable/": "alerts.change_channel",
        "post channels/{}/pause/": "alerts.change_channel",
        "post channels/{}/test/": "alerts.test_channel",
    },
    "alerts.delivery": {
        "get deliveries/": "",
        "get deliveries/{}/": "",
    },
    "alerts.silence": {
        "get silences/": "",
        "post silences/": "alerts.add_silence",
        "get silences/{}/": "",
        "post silences/{}/end/": "alerts.change_silence",
    },
    "polling.card": {
        "get iot-cards/": "",
        "post iot-cards/import/": "polling.add_card",
        "get iot-cards/{}/": "",
        "post iot-cards/{}/check/": "polling.check_card",
        "post iot-cards/{}/polling-off/": "polling.change_card",
        "post iot-cards/{}/polling-on/": "polling.change_card",
        "get iot-cards/{}/polling-state/": "",
        "post iot-cards/{}/resume/": "polling.operate_card",
        "post iot-cards/{}/stop/": "polling.operate_card",
    },
    "polling.cardoperation": {
        "get card-operations/": "",
        "get card-operations/{}/": "",
        "post card-operations/{}/cancel/": "polling.operate_card",
    },
    "polling.carrieraccount": {
        "get polling-stats/": "",
        "get polling-stats/{}/": "",
    },
    "polling.checkrequest": {
        "get polling-check-requests/": "",
        "post polling-check-requests/": "polling.check_card",
        "get polling-check-requests/{}/": "",
    },
    "polling.checkscene": {
        "get polling-check-scenes/": "",
        "get polling-check-scenes/{}/": "",
        "patch polling-check-scenes/{}/": "polling.change_checkscene",
    },
    "polling.cutover": {
        "get polling-cutovers/": "",
        "post polling-cutovers/": "polling.cut_over",
        "get polling-cutovers/{}/": "",
    },
    "polling.pollingparams": {
        "get polling-carrier-params/": "",
        "delete polling-carrier-params/{}/": "polling.change_pollingparams",
        "get polling-carrier-params/{}/": "",
        "patch polling-carrier-params/{}/": "polling.change_pollingparams",
        "put polling-carrier-params/{}/": "polling.change_pollingparams",
    },
    "quotas.edge": {
        "get quota-edges/": "",
        "get quota-edges/{}/": "",
    },
    "quotas.ledgerentry": {
        "get quota-ledger/": "",
        "get quota-ledger/{}/": "",
        "post quota-ledger/{}/refund/": "quotas.refund_quota",
    },
    "quotas.providerreport": {
        "get quota-reports/": "",
        "get quota-reports/{}/": "",
    },
    "quotas.quota": {
        "get quotas/": "",
        "post quotas/": "quotas.add_quota",
        "get quotas/{}/": "",
        "patch quotas/{}/": "quotas.change_quota",
        "post quotas/{}/check-now/": "quotas.change_quota",
        "get quotas/{}/outlook/": "",
        "post quotas/{}/reset-now/": "quotas.top_up_quota",
        "post quotas/{}/set-limit/": "quotas.top_up_quota",
        "get quotas/{}/simulate/": "",
        "post quotas/{}/top-up/": "quotas.top_up_quota",
        "get quotas/{}/waiting/": "",
    },
    "quotas.reservation": {
        "get quota-reservations/": "",
        "get quota-reservations/{}/": "",
    },
}

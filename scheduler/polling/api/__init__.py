"""The polling over HTTP: accounts and their parameters, cards and what is known of them, tiers, settings, scenes,
alerts, stops and resumes, cut-overs.
"""

from scheduler.polling.api.accounts import Accounts
from scheduler.polling.api.cards import Cards
from scheduler.polling.api.cutovers import Cutovers
from scheduler.polling.api.devices import Devices
from scheduler.polling.api.failure_alerts import FailureAlerts
from scheduler.polling.api.operations import CardOperations
from scheduler.polling.api.params import Params
from scheduler.polling.api.records import Changes, Checks, Looks
from scheduler.polling.api.requests import CheckRequests
from scheduler.polling.api.scenes import CheckScenes
from scheduler.polling.api.settings import Settings
from scheduler.polling.api.stats import Stats
from scheduler.polling.api.tiers import Tiers

RESOURCES = {
    "card-changes": Changes,
    "card-checks": Checks,
    "card-operations": CardOperations,
    "iot-cards": Cards,
    "iot-devices": Devices,
    "polling-accounts": Accounts,
    "polling-carrier-params": Params,
    "polling-check-requests": CheckRequests,
    "polling-check-scenes": CheckScenes,
    "polling-confirmations": Looks,
    "polling-cutovers": Cutovers,
    "polling-failure-alerts": FailureAlerts,
    "polling-settings": Settings,
    "polling-stats": Stats,
    "polling-tiers": Tiers,
}

"""The polling over HTTP: accounts and their parameters, cards, scenes, alerts, stops and resumes, cut-overs."""

from scheduler.polling.api.cards import Cards
from scheduler.polling.api.cutovers import Cutovers
from scheduler.polling.api.failure_alerts import FailureAlerts
from scheduler.polling.api.operations import CardOperations
from scheduler.polling.api.params import Params
from scheduler.polling.api.requests import CheckRequests
from scheduler.polling.api.scenes import CheckScenes
from scheduler.polling.api.stats import Stats

RESOURCES = {
    "card-operations": CardOperations,
    "iot-cards": Cards,
    "polling-carrier-params": Params,
    "polling-check-requests": CheckRequests,
    "polling-check-scenes": CheckScenes,
    "polling-cutovers": Cutovers,
    "polling-failure-alerts": FailureAlerts,
    "polling-stats": Stats,
}

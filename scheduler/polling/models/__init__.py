"""The rows of the polling."""

from scheduler.polling.models.accounts import CarrierAccount, PollingParams
from scheduler.polling.models.cards import Card, Device
from scheduler.polling.models.checks import CardChange, CardCheck
from scheduler.polling.models.cutovers import Cutover
from scheduler.polling.models.operations import CardOperation
from scheduler.polling.models.policies import PollingTier, SystemSetting
from scheduler.polling.models.scenes import CheckRequest, CheckScene, Confirmation

__all__ = [
    "Card",
    "CardChange",
    "CardCheck",
    "CardOperation",
    "CarrierAccount",
    "CheckRequest",
    "CheckScene",
    "Confirmation",
    "Cutover",
    "Device",
    "PollingParams",
    "PollingTier",
    "SystemSetting",
]

"""The rows of the polling."""

from scheduler.polling.models.accounts import CarrierAccount, PollingParams
from scheduler.polling.models.cards import Card, Device
from scheduler.polling.models.checks import CardChange, CardCheck
from scheduler.polling.models.policies import PollingTier, SystemSetting

__all__ = [
    "Card",
    "CardChange",
    "CardCheck",
    "CarrierAccount",
    "Device",
    "PollingParams",
    "PollingTier",
    "SystemSetting",
]

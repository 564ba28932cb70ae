"""The polling's pages in the control panel. What they change is changed by the domain: defining, fleet.lifecycle."""

from scheduler.polling.admin import (
    accounts,
    cards,
    changes,
    checks,
    cutovers,
    devices,
    operations,
    params,
    requests,
    scenes,
    system_settings,
    tiers,
)

__all__ = [
    "accounts",
    "cards",
    "changes",
    "checks",
    "cutovers",
    "devices",
    "operations",
    "params",
    "requests",
    "scenes",
    "system_settings",
    "tiers",
]

"""A carrier that does not exist: a real HTTP server with cards, limits, latency, and faults on demand.

It speaks a JSON API of its own, with the habits of real ones: codes in the body that differ from the status, changes
that are accepted and done later, tokens that end, batches that one card spoils. What it was asked, and whether its
limits were kept, it counts exactly and tells at `/_stats`; faults are ordered at `/_faults`.
"""

from scheduler.polling.carriers.simulator.accounts import AccountPlan, Limit, iccid_of
from scheduler.polling.carriers.simulator.dialects import Dialect
from scheduler.polling.carriers.simulator.faults import Fault, FaultKind
from scheduler.polling.carriers.simulator.running import RunningCarrier, simulated_carrier
from scheduler.polling.carriers.simulator.settings import credentials_for, settings_for

__all__ = [
    "AccountPlan",
    "Dialect",
    "Fault",
    "FaultKind",
    "Limit",
    "RunningCarrier",
    "credentials_for",
    "iccid_of",
    "settings_for",
    "simulated_carrier",
]

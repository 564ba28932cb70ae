"""The rows of the quotas."""

from quotas.models.edges import Edge, ProviderReport, TenantTurn
from quotas.models.ledger import LedgerEntry, Reservation
from quotas.models.quotas import Quota

__all__ = ["Edge", "LedgerEntry", "ProviderReport", "Quota", "Reservation", "TenantTurn"]

"""The quotas' pages in the control panel. Every action writes rows; nothing here talks to a provider."""

from quotas.admin import edges, ledger, quotas, reports, reservations

__all__ = ["edges", "ledger", "quotas", "reports", "reservations"]

"""The quotas over HTTP: what the control panel shows of them, and what it lets people do."""

from quotas.api.edges import Edges
from quotas.api.ledger import Ledger
from quotas.api.quotas import Quotas
from quotas.api.reports import Reports
from quotas.api.reservations import Reservations

RESOURCES = {
    "quotas": Quotas,
    "quota-edges": Edges,
    "quota-ledger": Ledger,
    "quota-reports": Reports,
    "quota-reservations": Reservations,
}

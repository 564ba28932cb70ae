"""How quick the senders of quick_senders are. That module changes the process that imports it; this one does not."""

TIMEOUT_SECONDS = 2.0
LEASE_SECONDS = 4.0

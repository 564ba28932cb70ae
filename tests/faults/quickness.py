"""How quick the senders of quick_senders are; that module changes the process that imports it, and this one does not."""

TIMEOUT_SECONDS = 2.0
LEASE_SECONDS = 4.0

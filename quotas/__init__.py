"""How much may be spent. Quotas know no run: an owner is a text key."""

"""The books prove themselves: each figure of a quota is counted again from the rows that led to it.

A few statements over all quotas, however many there are. Each finds the rows that contradict each other in its own
snapshot, and says so in a sentence; a fault that is gone at the second look was work under way.
"""

from django.db import connection

# So many faults of one kind are told; the rest is only counted.
MOST_TOLD = 100


def check_books() -> list[str]:
    """Return what is wrong with the books, a sentence each; nothing if all is right."""
    return [sentence for check in CHECKS for sentence in _faults(check)]


def _faults(check: str) -> list[str]:
    with connection.cursor() as cursor:
        cursor.execute(check)
        found = [str(sentence) for (sentence,) in cursor.fetchmany(MOST_TOLD + 1)]
    if len(found) > MOST_TOLD:
        found[MOST_TOLD:] = [f"And more of the same as: {found[0]}"]
    return found


# The sum of the ledger is the balance.
_BALANCE = """
SELECT format('The quota “%s” has a balance of %s, but its ledger comes to %s.', key, balance, coalesce(sum, 0))
FROM (SELECT id, key, coalesce("limit", 0) - used AS balance FROM quotas_quota) AS quota
LEFT JOIN (SELECT quota_id, sum(amount) FROM quotas_ledgerentry GROUP BY quota_id) AS ledger ON quota_id = quota.id
WHERE balance <> coalesce(sum, 0) ORDER BY quota.id
"""

# What was ever spent is what was charged less what was refunded.
_SPENT = """
SELECT format('Of the quota “%s” %s is said to be spent in all, but its ledger says %s.', key, spent_total,
    coalesce(sum, 0))
FROM quotas_quota AS quota
LEFT JOIN (
    SELECT quota_id, sum(CASE kind WHEN 'charge' THEN units ELSE -units END) FROM quotas_ledgerentry
    WHERE kind IN ('charge', 'refund') GROUP BY quota_id
) AS ledger ON quota_id = quota.id
WHERE spent_total <> coalesce(sum, 0) ORDER BY quota.id
"""

# What is reserved of a quota is what is held of it and of all that is part of it.
_RESERVED = """
SELECT format('Of the quota “%s” %s is reserved, but its reservations hold %s.', key, reserved, coalesce(sum, 0))
FROM quotas_quota AS quota
LEFT JOIN (
    SELECT link_id, sum(amount) FROM quotas_reservation AS reservation
    JOIN quotas_quota AS leaf ON leaf.id = reservation.quota_id, unnest(leaf.ancestors || leaf.id) AS link_id
    WHERE reservation.state = 'held' GROUP BY link_id
) AS held ON link_id = quota.id
WHERE reserved <> coalesce(sum, 0) ORDER BY quota.id
"""

# All or none: a charge and a refund have an entry in each link of the chain, and nowhere else.
_LINKS = """
SELECT format('The %s “%s” of the quota “%s” is not entered once in each quota that it is part of.',
    entry.kind, entry.idempotency_key, leaf.key)
FROM quotas_ledgerentry AS entry JOIN quotas_quota AS leaf ON leaf.id = entry.charged_id
WHERE entry.kind IN ('charge', 'refund')
GROUP BY entry.kind, entry.idempotency_key, leaf.id
HAVING array_agg(DISTINCT entry.quota_id ORDER BY entry.quota_id)
    <> (SELECT array_agg(link ORDER BY link) FROM unnest(leaf.ancestors || leaf.id) AS link)
    OR count(DISTINCT units) > 1 OR bool_or(entry.kind = 'charge' AND amount <> -units)
ORDER BY leaf.id
"""

# A refund belongs to a charge, and gives no more than that took.
_REFUNDS = """
SELECT format('The refund “%s” of the quota “%s” gives back what was not charged.', refund.idempotency_key, leaf.key)
FROM quotas_ledgerentry AS refund JOIN quotas_quota AS leaf ON leaf.id = refund.charged_id
LEFT JOIN quotas_ledgerentry AS charge ON charge.kind = 'charge' AND charge.charged_id = refund.charged_id
    AND charge.idempotency_key = refund.idempotency_key AND charge.quota_id = refund.quota_id
WHERE refund.kind = 'refund' AND refund.charged_id = refund.quota_id
    AND (charge.id IS NULL OR refund.units > charge.units OR NOT refund.amount BETWEEN 0 AND refund.units)
ORDER BY refund.id
"""

# What was settled was charged, once.
_SETTLEMENTS = """
SELECT format('The reservation #%s of the quota “%s” was settled by %s, but its charge says %s.',
    reservation.id, quota.key, settled_amount, coalesce(entry.units, 0))
FROM quotas_reservation AS reservation JOIN quotas_quota AS quota ON quota.id = reservation.quota_id
LEFT JOIN quotas_ledgerentry AS entry ON entry.charged_id = quota.id AND entry.quota_id = quota.id
    AND entry.kind = 'charge' AND entry.idempotency_key = 'tideline:reservation:' || reservation.id
WHERE reservation.state = 'settled' AND purpose = 'work' AND settled_amount <> coalesce(entry.units, 0)
ORDER BY reservation.id
"""

# No entry is of a quota that is not there; no foreign key asks that of each charge.
_STRAYS = """
SELECT format('The ledger has entries of the quota #%s, which is not there.', id) FROM (
    (SELECT quota_id FROM quotas_ledgerentry UNION SELECT charged_id FROM quotas_ledgerentry)
    EXCEPT SELECT id FROM quotas_quota
) AS stray (id) ORDER BY id
"""

_CHAINS = """
SELECT format('The quota “%s” does not know what it is part of: save it again.', quota.key)
FROM quotas_quota AS quota LEFT JOIN quotas_quota AS parent ON parent.id = quota.parent_id
WHERE quota.ancestors <> CASE WHEN parent.id IS NULL THEN '{}' ELSE parent.ancestors || parent.id END
ORDER BY quota.id
"""

# What is used up is insufficient; and no charge is let through unjudged beyond the limit.
_VERDICTS = """
SELECT format('The quota “%s” is used up and called sufficient: it has not been judged.', key) FROM quotas_quota
WHERE verdict = 'sufficient' AND "limit" - used - reserved <= 0 AND NOT shadow
UNION ALL
SELECT format('The quota “%s” has a limit of %s, but charges are let through unjudged up to %s.',
    key, "limit", coalesce(quiet_below::text, 'any amount')) FROM quotas_quota
WHERE "limit" IS NOT NULL AND (quiet_below IS NULL OR quiet_below > "limit")
"""

CHECKS = (_BALANCE, _SPENT, _RESERVED, _LINKS, _REFUNDS, _SETTLEMENTS, _STRAYS, _CHAINS, _VERDICTS)

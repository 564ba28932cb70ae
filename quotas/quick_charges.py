"""The quick way to charge: one statement, where that changes nothing but what was spent."""

from contextlib import nullcontext
from datetime import datetime

from django.db import IntegrityError, connection, transaction

from project.kit.prepared import Statement
from quotas.models import Quota
from quotas.purchases import Purchase

# By key, whether the quota is part of no other.
_alone: dict[str, bool] = {}


def charge_quietly(key: str, amount: int, origin: Purchase, now: datetime) -> bool:
    """Charge in one statement where that changes no verdict, warning, period or admission; False: it was not done.

    A key that was seen is refused by the ledger's unique constraint, and the statement undone.
    """
    asked = {
        "key": key,
        "amount": amount,
        "now": now,
        "owner": origin.owner,
        "attempt": origin.attempt,
        "idempotency_key": origin.key,
        "refund_on_failure": origin.refund_on_failure,
        "actor": origin.actor,
        "reason": origin.reason,
    }
    statement = _QUIET_CHARGE_OF_ONE if _stands_alone(key) else _QUIET_CHARGE
    try:
        with transaction.atomic() if connection.in_atomic_block else nullcontext(), connection.cursor() as cursor:
            statement.execute(cursor, asked)
            entries: int = cursor.rowcount
            return entries > 0
    except IntegrityError:
        return False


def _stands_alone(key: str) -> bool:
    """Tell whether the quota was part of no other when this process first charged it. That hardly ever changes; both
    statements see for themselves, and the one that is not meant for it charges nothing.
    """
    if key not in _alone:
        chain = Quota.objects.filter(key=key).values_list("ancestors", flat=True).first()
        if chain is None:
            return False
        _alone[key] = not chain
    return _alone[key]


# --- the statements ----------------------------------------------------------------------------------------------

_IS_QUIET = (
    "verdict = 'sufficient' AND kind <> 'rate' AND blocked_until IS NULL AND provider_remaining IS NULL"
    " AND (period_end IS NULL OR (period_start <= %(now)s AND %(now)s < period_end))"
    " AND (quiet_below IS NULL OR used + reserved + %(amount)s < quiet_below)"
)
_IS_UNADMITTED = (
    "NOT EXISTS (SELECT FROM quotas_reservation AS reservation"
    " WHERE reservation.owner = %(owner)s AND reservation.state = 'held' AND reservation.purpose = 'admission')"
)
_ENTER = (
    "INSERT INTO quotas_ledgerentry (idempotency_key, units, amount, owner, attempt, refund_on_failure, at, actor,"
    " reason, kind, over_limit, quota_id, charged_id)"
    " SELECT %(idempotency_key)s, %(amount)s, -%(amount)s, %(owner)s, %(attempt)s, %(refund_on_failure)s, %(now)s,"
    " %(actor)s, %(reason)s, 'charge', false,"
)
_QUIET_CHARGE_OF_ONE = Statement(
    "WITH charged AS ("  # noqa: S608
    " UPDATE quotas_quota SET used = used + %(amount)s, spent_total = spent_total + %(amount)s"
    f"  WHERE key = %(key)s AND ancestors = '{{}}' AND {_IS_QUIET} AND {_IS_UNADMITTED} RETURNING id)"
    f" {_ENTER} id, id FROM charged"
)
# The links are locked in the order of their ids, and what is tested is what was locked. None of them can be gone.
_QUIET_CHARGE = Statement(
    "WITH leaf AS (SELECT id, ancestors || id AS chain FROM quotas_quota WHERE key = %(key)s),"  # noqa: S608
    " link AS (SELECT quota.* FROM quotas_quota AS quota, leaf WHERE quota.id = ANY(leaf.chain)"
    "  ORDER BY quota.id FOR UPDATE OF quota),"
    " fits AS (SELECT FROM link, leaf"
    f"  HAVING bool_and((link.id <> leaf.id OR link.ancestors || link.id = leaf.chain) AND {_IS_QUIET})),"
    f" unadmitted AS (SELECT FROM fits WHERE {_IS_UNADMITTED}),"
    " charged AS (UPDATE quotas_quota AS quota"
    "  SET used = quota.used + %(amount)s, spent_total = quota.spent_total + %(amount)s"
    "  FROM link, unadmitted WHERE quota.id = link.id RETURNING quota.id)"
    f" {_ENTER} charged.id, leaf.id FROM charged, leaf"
)

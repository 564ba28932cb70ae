"""What carriers said is written in bulk: the rows first, in one transaction, fenced by the claims' tokens; then the
live order, so that a card is never free before its result is safe. Written twice, it is the same.
"""

import json
from collections.abc import Iterable, Sequence
from dataclasses import replace
from datetime import datetime
from typing import Any

from django.core.serializers.json import DjangoJSONEncoder
from django.db import connection, transaction

from scheduler.polling import confirming, failures, holding, policy, system_settings, tiers
from scheduler.polling.confirming import Seen
from scheduler.polling.failures import Failure
from scheduler.polling.outcomes import Asked, Polled, Settled, troubles
from scheduler.polling.policy import Facts
from scheduler.polling.queue.entries import Finish
from scheduler.polling.states import CheckType


def settle(polled: Sequence[Polled], *, now: datetime) -> Settled:
    """Write what came of asking about the cards, tell what has to be told, and return how their claims are finished.

    A check that a later claim has written already stays as that wrote it.
    """
    checks = [check for one in polled for check in _checks(one)]
    with transaction.atomic():
        written = _write_checks(checks)
        fresh = [check for check in checks if check.key in written]
        _write_cards(fresh, now)
        _tell(fresh, now)
        confirming.observe([_seen(check) for check in fresh], now=now)
        held = {account_id: holding.hold(account_id, why, now=now) for account_id, why in troubles(polled).items()}
        holding.answered(_answering(fresh).difference(held), now=now)
    return Settled(written=len(fresh), stale=len(checks) - len(fresh), held=held, finishes=_finishes(polled, checks))


def _checks(polled: Polled) -> list["_Check"]:
    facts = _facts_after(polled)
    return [_Check(polled, asked, facts) for asked in polled.asked]


def _facts_after(polled: Polled) -> Facts:
    """Return what is known of the card now that it was asked about."""
    learned: dict[str, Any] = {}
    for asked in polled.asked:
        learned |= asked.reading.columns if asked.reading is not None else {}
    return replace(polled.subject.facts, **learned)


class _Check:
    """One check of a card as it is written."""

    def __init__(self, polled: Polled, asked: Asked, facts: Facts) -> None:
        self.polled, self.asked, self.facts = polled, asked, facts
        self.failures = polled.claim.failures[asked.type] + 1 if asked.is_failure else 0
        self.due_at = self._due_at()

    @property
    def key(self) -> tuple[int, str]:
        return self.polled.claim.card_id, str(self.asked.type)

    def _due_at(self) -> datetime | None:
        card_id, asked = self.polled.claim.card_id, self.asked
        if asked.later_at is not None:
            return asked.later_at
        if self.failures:
            return policy.backoff(system_settings.current().failure_backoff, self.failures, asked.at, card_id)
        return policy.next_due(asked.type, self.facts, tiers.current(), asked.at, card_id)


# --- the rows --------------------------------------------------------------------------------------------------

_CHECKS = (
    "INSERT INTO polling_cardcheck AS held (card_id, type, value, unit, as_of, checked_at, succeeded_at, due_at,"
    " failures, first_failed_at, last_failed_at, error_class, error, token)"
    " SELECT said.card_id, said.type, said.value, COALESCE(said.unit, ''), said.as_of, said.at,"
    " CASE WHEN said.answered THEN said.at END, said.due_at, said.failures,"
    " CASE WHEN said.failures > 0 THEN said.at END, CASE WHEN said.failures > 0 THEN said.at END,"
    " said.error_class, said.error, said.token"
    " FROM json_to_recordset(%s) AS said (card_id bigint, type text, value jsonb, unit text, as_of timestamptz,"
    " at timestamptz, answered boolean, due_at timestamptz, failures integer, error_class text, error text,"
    " token bigint, account_id bigint) JOIN polling_card AS card"
    " ON card.id = said.card_id AND card.account_id = said.account_id"
    " ORDER BY said.card_id, said.type"
    " ON CONFLICT (card_id, type) DO UPDATE SET checked_at = EXCLUDED.checked_at, due_at = EXCLUDED.due_at,"
    " failures = EXCLUDED.failures, error_class = EXCLUDED.error_class, error = EXCLUDED.error,"
    " token = EXCLUDED.token, succeeded_at = COALESCE(EXCLUDED.succeeded_at, held.succeeded_at),"
    " value = CASE WHEN EXCLUDED.succeeded_at IS NULL THEN held.value ELSE EXCLUDED.value END,"
    " unit = CASE WHEN EXCLUDED.succeeded_at IS NULL THEN held.unit ELSE EXCLUDED.unit END,"
    " as_of = CASE WHEN EXCLUDED.succeeded_at IS NULL THEN held.as_of ELSE EXCLUDED.as_of END,"
    " first_failed_at = CASE WHEN EXCLUDED.failures > 0 THEN"
    " COALESCE(held.first_failed_at, EXCLUDED.first_failed_at) END,"
    " last_failed_at = COALESCE(EXCLUDED.last_failed_at, held.last_failed_at)"
    " WHERE held.token <= EXCLUDED.token RETURNING card_id, type"
)


def _write_checks(checks: Sequence[_Check]) -> set[tuple[int, str]]:
    """Write the checks and return those that were written: not those of which a later claim has said more."""
    if not checks:
        return set()
    with connection.cursor() as cursor:
        cursor.execute(_CHECKS, [_document(_columns(check) for check in checks)])
        return set(cursor.fetchall())


def _columns(check: _Check) -> dict[str, Any]:
    asked, reading, error = check.asked, check.asked.reading, check.asked.error
    return {
        "card_id": check.polled.claim.card_id,
        "type": asked.type,
        "value": reading.value if reading is not None else None,
        "unit": reading.unit if reading is not None else "",
        "as_of": _instant(reading.as_of) if reading is not None else None,
        "at": _instant(asked.at),
        "answered": reading is not None,
        "due_at": _instant(check.due_at),
        "failures": check.failures,
        "error_class": error.error_class if error is not None else "",
        "error": str(error or ""),
        "token": check.polled.claim.token,
        "account_id": check.polled.claim.account_id,
    }


# Only rows that really change are written, and what they were is kept.
_CARDS = (
    "WITH said AS (SELECT * FROM json_to_recordset(%s) AS said (id bigint, state text, real_name_state text,"
    " package text, used_bytes bigint, allowance_bytes bigint)),"
    " before AS (SELECT card.* FROM polling_card AS card JOIN said USING (id)"
    " WHERE (card.state, card.real_name_state, card.package, card.used_bytes, card.allowance_bytes)"
    " IS DISTINCT FROM (said.state, said.real_name_state, said.package, said.used_bytes, said.allowance_bytes)"
    " ORDER BY card.id FOR NO KEY UPDATE OF card),"
    " changed AS (UPDATE polling_card AS card SET state = said.state, real_name_state = said.real_name_state,"
    " package = said.package, used_bytes = said.used_bytes, allowance_bytes = said.allowance_bytes, updated_at = %s"
    " FROM said JOIN before USING (id) WHERE card.id = said.id RETURNING card.*)"
    " INSERT INTO polling_cardchange (card_id, field, before, after, at)"
    " SELECT changed.id, pair.field, pair.before, pair.after, %s FROM changed JOIN before USING (id),"
    " LATERAL (VALUES ('state', before.state, changed.state),"
    " ('real_name_state', before.real_name_state, changed.real_name_state),"
    " ('package', before.package, changed.package),"
    " ('allowance_bytes', COALESCE(before.allowance_bytes::text, ''), COALESCE(changed.allowance_bytes::text, '')))"
    " AS pair (field, before, after)"
    " WHERE pair.before IS DISTINCT FROM pair.after"
)


def _write_cards(checks: Sequence[_Check], now: datetime) -> None:
    """Write what was learned into the cards, and keep what it was before; usage grows, and is no change to keep."""
    learned = {check.polled.claim.card_id: check.facts for check in checks if check.asked.reading is not None}
    if not learned:
        return
    rows = ({"id": card_id, **_carrier_columns(facts)} for card_id, facts in learned.items())
    with connection.cursor() as cursor:
        cursor.execute(_CARDS, [_document(rows), now, now])


def _carrier_columns(facts: Facts) -> dict[str, Any]:
    return {
        "state": facts.state,
        "real_name_state": facts.real_name_state,
        "package": facts.package,
        "used_bytes": facts.used_bytes,
        "allowance_bytes": facts.allowance_bytes,
    }


def _seen(check: _Check) -> Seen:
    return Seen(check.polled.claim.card_id, check.asked.type, check.asked.at, check.asked.reading)


def _document(rows: Iterable[dict[str, Any]]) -> str:
    return json.dumps(list(rows), cls=DjangoJSONEncoder)


def _instant(at: datetime | None) -> str | None:
    return None if at is None else at.isoformat()  # the encoder would cut it to milliseconds


# --- what is told ----------------------------------------------------------------------------------------------


def _tell(checks: Sequence[_Check], now: datetime) -> None:
    failed = [
        Failure(check.polled.claim.account_id, check.polled.subject, check.asked, check.failures)
        for check in checks
        if check.failures
    ]
    failures.tell(failed, system_settings.current(), now=now)
    recovered = [check for check in checks if check.asked.reading is not None and _failed_before(check)]
    failures.all_clear([(check.polled.claim.card_id, check.asked.type) for check in recovered], now=now)


def _failed_before(check: _Check) -> bool:
    return check.polled.claim.failures[check.asked.type] > 0


def _answering(checks: Sequence[_Check]) -> set[int]:
    return {check.polled.claim.account_id for check in checks if check.asked.reading is not None}


# --- how the claims are finished -------------------------------------------------------------------------------


def _finishes(polled: Sequence[Polled], checks: Iterable[_Check]) -> dict[int, list[Finish]]:
    by_card: dict[int, list[_Check]] = {}
    for check in checks:
        by_card.setdefault(check.polled.claim.card_id, []).append(check)
    finishes: dict[int, list[Finish]] = {}
    for one in polled:
        finishes.setdefault(one.claim.account_id, []).append(_finish(one, by_card.get(one.claim.card_id, [])))
    return finishes


def _finish(polled: Polled, checks: Sequence[_Check]) -> Finish:
    """Return the claim's end: each check that was asked is due anew, and the others as they were, or a little later;
    those that were not due by the card's tier, if that is another one now.
    """
    due = {check.asked.type: check.due_at for check in checks} | _moved(polled, checks)
    if polled.again_at is not None:
        due |= {check: polled.again_at for check in polled.claim.types if check not in due}
    due |= dict.fromkeys(polled.unsupported, None)
    return Finish(polled.claim.card_id, polled.claim.token, due, {check.asked.type: check.failures for check in checks})


def _moved(polled: Polled, checks: Sequence[_Check]) -> dict[CheckType, datetime | None]:
    """Return when checks are due that were not, and of which the card's tier says something else now."""
    if not checks:
        return {}
    claim, last = polled.claim, checks[-1]
    moved = policy.moved_due(polled.subject.facts, last.facts, tiers.current(), last.asked.at, claim.card_id)
    return {check: due for check, due in moved.items() if check not in claim.types and not claim.failures[check]}

"""Whether an expected result came: a card's check is looked at again after each of some pauses, until it is there.

A look is any check that was made since the look is due, whoever asked for it. So nothing has to be counted in the live
order: what is lost there is asked for again, and what is asked for twice is one check. `looks` asks for them.
"""

import json
from collections.abc import Iterable, Sequence
from datetime import datetime
from typing import NamedTuple

from django.core.serializers.json import DjangoJSONEncoder
from django.db import connection

from scheduler.polling import operations
from scheduler.polling.carriers.base import Reading
from scheduler.polling.models import Confirmation
from scheduler.polling.states import CheckType, ConfirmationState


class Seen(NamedTuple):
    """One check of one card that was made.

    Attributes:
        at: when it was over.
        reading: what the carrier said; None: it failed.
    """

    card_id: int
    type: CheckType
    at: datetime
    reading: Reading | None


class _Ended(NamedTuple):
    state: ConfirmationState
    operation_id: int


# A check before the look is due shows the expected as well, once there was a look: it is of after the event. And it
# may have taken the look's request along, so that is asked for again.
_OBSERVE = (
    "WITH seen AS (SELECT * FROM json_to_recordset(%(seen)s)"
    " AS seen (card_id bigint, type text, at timestamptz, value jsonb)),"
    " found AS (SELECT held.id, seen.at, held.due_at <= seen.at AS is_look,"
    " (held.looks > 0 OR held.due_at <= seen.at) AND COALESCE(held.expected = seen.value, FALSE) AS is_there"
    " FROM polling_confirmation AS held JOIN seen USING (card_id, type) WHERE held.state = 'waiting'"
    " ORDER BY held.id FOR UPDATE OF held),"
    " judged AS (SELECT found.*, CASE WHEN is_there THEN 'confirmed'"
    " WHEN is_look AND cardinality(held.delays) = 0 THEN 'over' ELSE 'waiting' END AS becomes"
    " FROM found JOIN polling_confirmation AS held USING (id))"
    " UPDATE polling_confirmation AS held SET state = becomes,"
    " looks = looks + CASE WHEN is_look OR is_there THEN 1 ELSE 0 END,"
    " ended_at = CASE WHEN becomes <> 'waiting' THEN %(now)s END,"
    " asked_at = CASE WHEN becomes <> 'waiting' THEN asked_at END,"
    " due_at = CASE WHEN becomes = 'waiting' AND is_look THEN at + make_interval(secs => delays[1]) ELSE due_at END,"
    " delays = CASE WHEN becomes = 'waiting' AND is_look THEN delays[2:] ELSE delays END"
    " FROM judged WHERE held.id = judged.id RETURNING state, operation_id"
)


def observe(seen: Sequence[Seen], *, now: datetime) -> None:
    """Compare checks with what is expected of them, in the transaction that writes them.

    What is there is confirmed, and its other looks are no longer needed; the last look that did not show it ends it,
    and each other one plans the next. Operations whose looks end are told.

    Args:
        seen: each card and type at most once.
    """
    if not seen:
        return
    with connection.cursor() as cursor:
        cursor.execute(_OBSERVE, {"seen": _document(seen), "now": now})
        ended = [_Ended(ConfirmationState(state), operation) for state, operation in cursor.fetchall() if operation]
    _tell(ended, now)


def _document(seen: Iterable[Seen]) -> str:
    rows = [
        {
            "card_id": each.card_id,
            "type": each.type,
            "at": each.at.isoformat(),
            "value": None if each.reading is None else each.reading.value,
        }
        for each in seen
    ]
    return json.dumps(rows, cls=DjangoJSONEncoder)


def give_up(confirmation_ids: Iterable[int], *, now: datetime) -> None:
    """End confirmations of cards that nobody can look at any more; call it in a transaction."""
    waiting = Confirmation.objects.select_for_update().filter(
        pk__in=list(confirmation_ids), state=ConfirmationState.WAITING
    )
    rows = list(waiting.order_by("pk").values_list("pk", "operation_id"))
    Confirmation.objects.filter(pk__in=[pk for pk, _ in rows]).update(state=ConfirmationState.OVER, ended_at=now)
    _tell([_Ended(ConfirmationState.OVER, operation) for _, operation in rows if operation], now)


def _tell(ended: Sequence[_Ended], now: datetime) -> None:
    if there := [each.operation_id for each in ended if each.state is ConfirmationState.CONFIRMED]:
        operations.confirmed(there, now)
    if over := [each.operation_id for each in ended if each.state is ConfirmationState.OVER]:
        operations.never_seen(over, now)

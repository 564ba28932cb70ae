"""A result is expected of cards: the rows by which they are looked at until it is there. `confirming` compares."""

import json
from collections.abc import Iterable, Sequence
from datetime import datetime, timedelta
from typing import Any

from django.db import connection

from scheduler.polling.models import CardOperation, CheckRequest, Confirmation
from scheduler.polling.states import CheckType


def expect(
    card_ids: Iterable[int],
    check: CheckType,
    expected: Any,
    delays: Sequence[int],
    *,
    operation: CardOperation,
    now: datetime,
) -> None:
    """Have cards looked at until they are as an operation wants them. Call it in the transaction that says so.

    Args:
        expected: what the carrier has to say of the check.
        delays: seconds from now to the first look, from there to the second, and so on; at least one.
    """
    first, *others = delays
    due_at = now + timedelta(seconds=first)
    rows = [
        Confirmation(card_id=card_id, type=check, operation=operation, expected=expected, delays=others, due_at=due_at)
        for card_id in card_ids
    ]
    Confirmation.objects.bulk_create(rows)


# The first look is the check that the request asks for itself, and `passing_requests` tells the live order of it.
_FOLLOW = (
    "INSERT INTO polling_confirmation (card_id, type, request_id, expected, delays, looks, due_at, asked_at, state)"
    " SELECT card.id, wanted.type, %(request)s, %(expected)s::jsonb -> wanted.type, %(delays)s::integer[], 0, %(at)s,"
    " %(at)s, 'waiting' FROM polling_card AS card JOIN polling_carrieraccount AS account"
    " ON account.id = card.account_id, unnest(%(types)s::text[]) AS wanted (type)"
    " WHERE card.id = ANY(%(cards)s) AND card.polling_enabled AND account.active ORDER BY card.id"
)


def follow(request: CheckRequest) -> None:
    """Have the polled cards of a request looked at again after each of its scene's pauses, if it has any."""
    scene = request.scene
    if not scene.confirm_delays:
        return
    with connection.cursor() as cursor:
        cursor.execute(
            _FOLLOW,
            {
                "request": request.pk,
                "expected": json.dumps(request.expected),
                "delays": scene.confirm_delays,
                "at": request.at,
                "types": scene.types,
                "cards": request.card_ids,
            },
        )

"""Rows that the API tells of."""

import itertools
from typing import Any

from project.kit.clock import database_now
from scheduler.polling.models import Card, CardOperation, CheckRequest, Confirmation, Cutover
from scheduler.polling.states import CheckType, CutoverPhase, OperationKind

_numbers = itertools.count(1)


def make_operation(card: Card, **fields: Any) -> CardOperation:
    """Insert a stop of a card, which waits unless the fields say otherwise."""
    now = database_now()
    values = {"kind": OperationKind.STOP, "reason": "Scrapped", "actor": "ann", "created_at": now, "due_at": now}
    key = f"key {next(_numbers)}"
    return CardOperation.objects.create(card=card, account=card.account, **values | {"idempotency_key": key} | fields)


def make_request(card: Card, **fields: Any) -> CheckRequest:
    """Insert a request that was passed on."""
    now = database_now()
    values = {"event_id": f"event {next(_numbers)}", "scene_id": "order_paid", "actor": "shop", "at": now}
    return CheckRequest.objects.create(card_ids=[card.pk], asked_at=now, **values | fields)


def make_look(request: CheckRequest) -> Confirmation:
    """Insert a look at the usage of the request's card, which is to be taken."""
    return Confirmation.objects.create(
        card_id=request.card_ids[0], type=CheckType.USAGE, request=request, delays=[300], due_at=database_now()
    )


def make_cutover(**fields: Any) -> Cutover:
    """Insert a cut-over to the carrier's way, which is done."""
    now = database_now()
    values = {"wanted": "carrier", "actor": "ann", "started_at": now, "phase_since": now}
    return Cutover.objects.create(**values | {"phase": CutoverPhase.DONE, "ended_at": now} | fields)

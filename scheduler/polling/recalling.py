"""What was asked for in a live order is asked for again once the order was lost, or another takes over: rows decide."""

from collections.abc import Iterable
from datetime import datetime, timedelta

from django.db import connection, transaction

from scheduler.polling.models import Confirmation
from scheduler.polling.states import ConfirmationState, RequestOutcome

# What was asked before is of no use any more.
LATELY = timedelta(days=1)

_UNANSWERED = (
    "UPDATE polling_checkrequest AS request SET asked_at = NULL FROM polling_checkscene AS scene"
    " WHERE scene.code = request.scene_id AND request.asked_at > %(since)s AND request.outcome -> %(off)s IS NULL"
    " AND EXISTS (SELECT FROM polling_card AS card, unnest(scene.types) AS wanted (type)"
    " WHERE card.id = ANY(request.card_ids) AND card.account_id = ANY(%(accounts)s) AND card.polling_enabled"
    " AND NOT EXISTS (SELECT FROM polling_cardcheck AS made WHERE made.card_id = card.id"
    " AND made.type = wanted.type AND made.checked_at >= request.at))"
)


def ask_again(account_ids: Iterable[int], *, now: datetime) -> None:
    """Have the accounts' looks, and their latest requests that were not answered, passed on again.

    Call it before the new order is open: a crash in between builds it, and asks, once more.
    """
    accounts = list(account_ids)
    with transaction.atomic():
        _ask_for_looks(accounts)
        off = RequestOutcome.SCENE_OFF.value
        with connection.cursor() as cursor:
            cursor.execute(_UNANSWERED, {"since": now - LATELY, "off": off, "accounts": accounts})


def _ask_for_looks(accounts: list[int]) -> None:
    waiting = Confirmation.objects.filter(state=ConfirmationState.WAITING, card__account__in=accounts)
    locked = waiting.select_for_update(of=("self",)).order_by("pk")  # in the order of whoever settles
    found = list(locked.values_list("pk", flat=True))
    Confirmation.objects.filter(pk__in=found).update(asked_at=None)

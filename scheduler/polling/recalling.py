"""What was asked for in the live order of an account is asked for again once the order was lost: rows decide."""

from datetime import datetime, timedelta

from django.db import connection

from scheduler.polling.models import Confirmation
from scheduler.polling.states import ConfirmationState, RequestOutcome

# What was asked before is of no use any more.
LATELY = timedelta(days=1)

_UNANSWERED = (
    "UPDATE polling_checkrequest AS request SET asked_at = NULL FROM polling_checkscene AS scene"
    " WHERE scene.code = request.scene_id AND request.asked_at > %(since)s AND request.outcome -> %(off)s IS NULL"
    " AND EXISTS (SELECT FROM polling_card AS card, unnest(scene.types) AS wanted (type)"
    " WHERE card.id = ANY(request.card_ids) AND card.account_id = %(account)s AND card.polling_enabled"
    " AND NOT EXISTS (SELECT FROM polling_cardcheck AS made WHERE made.card_id = card.id"
    " AND made.type = wanted.type AND made.checked_at >= request.at))"
)


def ask_again(account_id: int, *, now: datetime) -> None:
    """Have the account's looks, and its latest requests that were not answered, passed on again."""
    Confirmation.objects.filter(state=ConfirmationState.WAITING, card__account=account_id).update(asked_at=None)
    with connection.cursor() as cursor:
        cursor.execute(
            _UNANSWERED, {"since": now - LATELY, "off": RequestOutcome.SCENE_OFF.value, "account": account_id}
        )

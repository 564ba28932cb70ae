"""The queue of each account's operations: who may be sent now, who has it in hand, who began to send it.

An operation is claimed with a token and a lease, and begun right before the carrier is asked: what is claimed and not
begun has asked nothing, and goes back as if nothing had been.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from functools import reduce
from operator import or_

from django.db import connection, transaction
from django.db.models import F, OuterRef, Q, QuerySet, Subquery

from scheduler.polling import cards
from scheduler.polling.accounts import Account
from scheduler.polling.carriers.base import CardRef
from scheduler.polling.models import Card, CardOperation
from scheduler.polling.operations.taken import Taken
from scheduler.polling.states import OperationKind, OperationState

# So long may an operation lie in a queue, or wait for another of its account, before it is begun.
CLAIM_LEASE = timedelta(minutes=2)
# Two who claim at once would each fill the places that are left; the second waits for the first one's commit.
_ONE_AT_A_TIME = 0x5349_4D53
_NOTHING = Q(pk__in=())

_CLAIM = (
    "WITH bears AS (SELECT * FROM unnest(%s::bigint[], %s::int[]) AS bears (account_id, places)),"
    " room AS (SELECT account_id, places - (SELECT count(*) FROM polling_cardoperation AS sent"
    " WHERE sent.account_id = bears.account_id AND sent.state = 'sending') AS places FROM bears),"
    " chosen AS (SELECT waiting.id FROM room, LATERAL (SELECT id FROM polling_cardoperation AS queued"
    " WHERE queued.account_id = room.account_id AND queued.state = 'waiting' AND queued.due_at <= %s"
    " ORDER BY queued.due_at, queued.id LIMIT GREATEST(room.places, 0) FOR NO KEY UPDATE SKIP LOCKED) AS waiting)"
    " UPDATE polling_cardoperation AS operation SET state = 'sending', token = operation.token + 1, lease_until = %s,"
    " sent_at = NULL, version = operation.version + 1 FROM chosen WHERE operation.id = chosen.id"
    " RETURNING operation.account_id, operation.id, operation.card_id, operation.token"
)


@dataclass(frozen=True, slots=True)
class Change:
    """What is asked of the carrier now."""

    kind: OperationKind
    card: CardRef


def accounts_that_wait(*, now: datetime) -> set[int]:
    """Return the accounts that have operations which are due."""
    due = CardOperation.objects.filter(state=OperationState.WAITING, due_at__lte=now)
    return set(due.order_by().values_list("account_id", flat=True).distinct())


def claim(accounts: Iterable[Account], *, now: datetime) -> Mapping[int, Sequence[Taken]]:
    """Claim the due operations of these accounts, as many as each may have in work; those due first come first.

    Returns:
        them by account.
    """
    places = {account.id: account.params.sr_inflight_limit for account in accounts}
    taken: dict[int, list[Taken]] = {}
    with transaction.atomic(), connection.cursor() as cursor:
        cursor.execute("SELECT pg_advisory_xact_lock(%s)", [_ONE_AT_A_TIME])
        cursor.execute(_CLAIM, [list(places), list(places.values()), now, now + CLAIM_LEASE])
        for account_id, *numbers in sorted(cursor.fetchall()):
            taken.setdefault(account_id, []).append(Taken(*numbers))
    return taken


def begin(taken: Taken, *, now: datetime, lease: timedelta) -> Change | None:
    """Note that the carrier is asked now, and return what is asked. None: it is another's, or was begun already.

    Args:
        lease: from now; who has not written by then what came of it is taken for dead.
    """
    # The account that is asked has to be the card's: it may have been moved while the operation waited.
    unbegun = _in_hand([taken]).filter(sent_at__isnull=True, lease_until__gt=now, card__account=F("account"))
    with transaction.atomic():
        operation = unbegun.select_for_update(of=("self",), no_key=True).first()
        subject = cards.read([taken.card_id]).get(taken.card_id)
        if operation is None or subject is None:
            return None
        operation.sent_at, operation.lease_until = now, now + lease
        operation.tries, operation.version = operation.tries + 1, operation.version + 1
        operation.save(update_fields=["sent_at", "lease_until", "tries", "version"])
    return Change(OperationKind(operation.kind), subject.ref)


def put_off(taken: Iterable[Taken], *, until: datetime) -> int:
    """Let operations that were not begun wait on; the others, and those that are another's by now, are left alone.

    Args:
        until: when they are due again.
    """
    return (
        _in_hand(taken)
        .filter(sent_at__isnull=True)
        .update(state=OperationState.WAITING, lease_until=None, due_at=until, version=F("version") + 1)
    )


def follow_cards() -> int:
    """Let operations that wait be those of the accounts to which their cards were moved; return how many."""
    return _follow(CardOperation.objects.filter(state=OperationState.WAITING))


def leave(account_id: int) -> int:
    """Let all operations of an account that has no cards any more be of where its cards went; return how many."""
    return _follow(CardOperation.objects.filter(account=account_id))


def _follow(operations: QuerySet[CardOperation]) -> int:
    of_card = Card.objects.filter(pk=OuterRef("card_id")).values("account_id")
    moved = operations.exclude(card__account=F("account"))
    return moved.update(account_id=Subquery(of_card), version=F("version") + 1)


def free_unbegun(*, now: datetime) -> int:
    """Let those wait on whose sender was lost before it began; return how many."""
    lost = CardOperation.objects.filter(state=OperationState.SENDING, lease_until__lte=now, sent_at__isnull=True)
    return lost.update(state=OperationState.WAITING, lease_until=None, version=F("version") + 1)


def _in_hand(taken: Iterable[Taken]) -> QuerySet[CardOperation]:
    claims = (Q(pk=one.operation_id, token=one.token) for one in taken)
    return CardOperation.objects.filter(reduce(or_, claims, _NOTHING), state=OperationState.SENDING)

"""People and business events ask that cards are stopped or resumed; the rows say what becomes of that."""

from collections.abc import Iterable, Sequence
from datetime import datetime, timedelta
from functools import partial
from uuid import uuid4

from django.core.exceptions import ValidationError
from django.db import transaction
from django.db.models import F, Max
from django.db.models.functions import Coalesce
from django.utils.translation import gettext as _

from scheduler.polling import accounts, system_settings
from scheduler.polling.models import Card, CardOperation
from scheduler.polling.operations import dispatching
from scheduler.polling.states import OPEN_OPERATIONS, OperationKind, OperationState

LONGEST_KEY = 160  # a card's number is put behind it
# With these the carrier took the change, or may have.
_CHANGED = (OperationState.ACCEPTED, OperationState.DONE, OperationState.UNCONFIRMED, OperationState.UNKNOWN)


def ask(
    kind: OperationKind, card_ids: Iterable[int], *, reason: str, actor: str, idempotency_key: str, now: datetime
) -> list[CardOperation]:
    """Ask that cards are stopped or resumed, all or none of them.

    Args:
        reason: why; it is not empty.
        actor: who asks.
        idempotency_key: of the wish: with the same one, what it asked for before is returned. Empty: it is a new wish.

    Returns:
        one operation a card, in the order of `card_ids`; where one of this kind is open already, that one.

    Raises:
        ValidationError: no reason, a card that is not there, one on which an operation of the other kind is open, or
            a key that asked for the other kind.
    """
    if not reason.strip():
        raise ValidationError({"reason": _("Write why, for those who ask later.")})
    if len(idempotency_key) > LONGEST_KEY:
        raise ValidationError(
            {"idempotency_key": _("Write a key of at most %(longest_key)s characters.") % {"longest_key": LONGEST_KEY}}
        )
    wanted = list(dict.fromkeys(card_ids))
    with transaction.atomic():
        cards = _locked(wanted)
        keys = _keys(idempotency_key, wanted)
        known = _known(kind, cards, keys)
        new = [cards[card_id] for card_id in wanted if card_id not in known]
        asked = _insert(kind, new, keys, reason=reason, actor=actor, now=now)
        if asked and not system_settings.current().stop_resume_queue_enabled:
            transaction.on_commit(partial(dispatching.send_due, now=now))
    return [(known | asked)[card_id] for card_id in wanted]


def cancel(operation_id: int, *, expected_version: int | None = None, actor: str, now: datetime) -> bool:
    """Cancel an operation that waits. False: it waits no more, or is another version."""
    waiting = CardOperation.objects.filter(pk=operation_id, state=OperationState.WAITING)
    if expected_version is not None:
        waiting = waiting.filter(version=expected_version)
    cancelled = waiting.update(
        state=OperationState.CANCELLED, ended_at=now, error=f"Cancelled by {actor}.", version=F("version") + 1
    )
    return bool(cancelled)


def _locked(card_ids: Sequence[int]) -> dict[int, Card]:
    """Return the cards, locked, so that two who ask for the same one come after each other."""
    rows = Card.objects.select_for_update(of=("self",), no_key=True).select_related("account__params")
    cards = {card.pk: card for card in rows.filter(pk__in=card_ids).order_by("pk")}
    if missing := [card_id for card_id in card_ids if card_id not in cards]:
        raise ValidationError({"cards": _("There is no card %(missing)s.") % {"missing": missing[0]}})
    return cards


def _keys(idempotency_key: str, card_ids: Sequence[int]) -> dict[int, str]:
    wish = idempotency_key or uuid4().hex
    return {card_id: f"{wish}:{card_id}" for card_id in card_ids}


def _known(kind: OperationKind, cards: dict[int, Card], keys: dict[int, str]) -> dict[int, CardOperation]:
    """Return by card what was asked for with these keys, or is open."""
    open_ = CardOperation.objects.filter(card__in=cards, state__in=OPEN_OPERATIONS)
    replayed = CardOperation.objects.filter(idempotency_key__in=keys.values())
    known = {operation.card_id: operation for operation in (*open_, *replayed)}
    for operation in known.values():
        if operation.kind != kind:
            raise ValidationError(_other_kind(cards[operation.card_id], operation, keys))
    return known


def _other_kind(card: Card, other: CardOperation, keys: dict[int, str]) -> dict[str, str]:
    what = other.get_kind_display()
    if other.idempotency_key == keys[card.pk]:
        return {"idempotency_key": _("With this key a %(what)s was asked for. Use a new one.") % {"what": what}}
    state = other.get_state_display()
    return {
        "cards": _("Card %(iccid)s: a %(what)s is open (%(state)s). Wait for its end, or cancel it while it waits.")
        % {"iccid": card.iccid, "what": what, "state": state}
    }


def _insert(
    kind: OperationKind, cards: Sequence[Card], keys: dict[int, str], *, reason: str, actor: str, now: datetime
) -> dict[int, CardOperation]:
    last = _last_changes([card.pk for card in cards])
    operations = CardOperation.objects.bulk_create(
        CardOperation(
            card=card,
            account=card.account,
            kind=kind,
            reason=reason,
            actor=actor,
            idempotency_key=keys[card.pk],
            created_at=now,
            due_at=_due_at(card, last.get(card.pk), now),
        )
        for card in cards
    )
    return {operation.card_id: operation for operation in operations}


def _last_changes(card_ids: Sequence[int]) -> dict[int, datetime]:
    """Return when the carrier last took a change of each card; those of which it took none are left out."""
    changed = CardOperation.objects.filter(card__in=card_ids, state__in=_CHANGED).order_by()
    return dict(changed.values_list("card").annotate(at=Max(Coalesce("accepted_at", "sent_at"))))


def _due_at(card: Card, last: datetime | None, now: datetime) -> datetime:
    """Return from when the carrier takes the next change of the card."""
    interval = timedelta(seconds=accounts.params_of(card.account).stop_resume_min_interval)
    return now if last is None else max(now, last + interval)

"""Cards come, change and go: the rows first, in one transaction, and after its commit the live order.

The live order follows the rows as they are after the commit, so each step may be repeated. What is lost between the
two, by a crash or because Redis is away, is found by `reconciling`; nobody waits for it. A claim of a card that was
taken out of an order is stale, and its poller learns so.
"""

from collections.abc import Iterable, Mapping, Sequence
from datetime import datetime
from functools import partial
from typing import Any

from django.db import transaction

from alerts.recording import resolve_alerts
from project.kit.versions import StaleVersion, column_value
from scheduler.polling import failures
from scheduler.polling.fleet import following
from scheduler.polling.models import Card, CardChange, CardCheck
from scheduler.polling.queue import MOST_CARDS
from scheduler.polling.states import CheckType

# What a person may change of a card; what its carrier says of it is written by the polling.
EDITABLE_FIELDS = ("account", "device", "msisdn", "imsi", "polling_enabled", "reset_day", "state")
# What the live order follows from.
ORDER_FIELDS = frozenset({"account", "polling_enabled", "reset_day", "state"})
# A change of these makes the card new to its order: it is due soon.
BEGINNING_FIELDS = frozenset({"account", "polling_enabled"})
LONGEST_TEXT = 200


def add_cards(cards: Iterable[Card], *, now: datetime) -> list[Card]:
    """Insert filled-in cards, and poll them soon.

    Raises:
        IntegrityError: one of their ICCIDs is there already; none was inserted.
    """
    added = list(cards)
    for card in added:
        card.created_at = card.updated_at = now
    with transaction.atomic():
        Card.objects.bulk_create(added, batch_size=MOST_CARDS)
        _after_commit({card.pk: card.account_id for card in added}, {card.pk for card in added}, now)
    return added


def remove(card_ids: Iterable[int], *, now: datetime) -> int:
    """Delete cards with all that is known of them, and return how many there were."""
    with transaction.atomic():
        former = {row.pk: row.account_id for row in _locked(card_ids)}
        _end_alerts(former, now)
        Card.objects.filter(pk__in=former).delete()
        _after_commit(former, set(), now)
    return len(former)


def enable(card_ids: Iterable[int], *, now: datetime) -> int:
    """Poll cards, soon and without a herd, and return how many were not polled before."""
    return change({card_id: {"polling_enabled": True} for card_id in card_ids}, now=now)


def disable(card_ids: Iterable[int], *, now: datetime) -> int:
    """Poll cards no more, and return how many were polled."""
    return change({card_id: {"polling_enabled": False} for card_id in card_ids}, now=now)


def change(values: Mapping[int, Mapping[str, Any]], *, now: datetime) -> int:
    """Give cards other values, keep what they were before, and return how many really changed.

    Args:
        values: by card, each of EDITABLE_FIELDS; cards that are gone are left out.
    """
    with transaction.atomic():
        rows = _locked(values)
        former = {row.pk: row.account_id for row in rows}
        made = {row.pk: _assigned(row, values[row.pk], now) for row in rows}
        changed = [row for row in rows if made[row.pk]]
        _write(changed, [each for changes in made.values() for each in changes], now)
        fields = {card_id: {each.field for each in changes} for card_id, changes in made.items()}
        moved = {card_id: former[card_id] for card_id, names in fields.items() if names & ORDER_FIELDS}
        _after_commit(moved, {card_id for card_id in moved if fields[card_id] & BEGINNING_FIELDS}, now)
    return len(changed)


def save_changes(card: Card, *, expected_version: int, now: datetime, fields: Iterable[str] = EDITABLE_FIELDS) -> bool:
    """Write what a person changed of one card; False: nothing really changed.

    Args:
        fields: those of EDITABLE_FIELDS that are written; the others stay as they are by now.

    Raises:
        StaleVersion: it was saved by somebody else since `expected_version`.
        ValidationError: a field is wrong.
    """
    with transaction.atomic():
        current = Card.objects.select_for_update().get(pk=card.pk)
        if current.version != expected_version:
            raise StaleVersion(current)
        card.full_clean(validate_constraints=False)
        return bool(change({card.pk: {name: getattr(card, name) for name in fields}}, now=now))


# --- the rows --------------------------------------------------------------------------------------------------


def _locked(card_ids: Iterable[int]) -> list[Card]:
    """Return the cards, locked in the order of their ids, so that two never wait for each other."""
    cards = Card.objects.select_for_update(of=("self",), no_key=True).select_related("account", "device")
    return list(cards.filter(pk__in=list(card_ids)).order_by("pk"))


def _assigned(row: Card, values: Mapping[str, Any], now: datetime) -> list[CardChange]:
    """Set those of the values that are others, and return what they were before."""
    made = []
    for name, value in values.items():
        before, shown = column_value(row, name), _text(getattr(row, name))
        setattr(row, name, value)
        if column_value(row, name) != before:
            made.append(CardChange(card=row, field=name, before=shown, after=_text(value), at=now))
    return made


def _write(rows: Sequence[Card], changes: Sequence[CardChange], now: datetime) -> None:
    if not rows:
        return
    for row in rows:
        row.version, row.updated_at = row.version + 1, now
    Card.objects.bulk_update(rows, [*EDITABLE_FIELDS, "version", "updated_at"], batch_size=MOST_CARDS)
    CardChange.objects.bulk_create(changes, batch_size=MOST_CARDS)
    _end_alerts([row.pk for row in rows if not row.polling_enabled], now)


def _end_alerts(card_ids: Iterable[int], now: datetime) -> None:
    """Resolve the alerts of cards that are polled no more: no answer will."""
    failing = CardCheck.objects.filter(card_id__in=list(card_ids), failures__gt=0)
    fingerprints = [
        failures.fingerprint(card_id, CheckType(check)) for card_id, check in failing.values_list("card_id", "type")
    ]
    if fingerprints:
        resolve_alerts(fingerprints, now=now, sentence="The card is not polled any more.")


def _text(value: Any) -> str:
    if value is None:
        return ""
    return {True: "on", False: "off"}[value] if isinstance(value, bool) else str(value)[:LONGEST_TEXT]


# --- the live order --------------------------------------------------------------------------------------------


def _after_commit(former: Mapping[int, int], beginning: set[int], now: datetime) -> None:
    if former:
        transaction.on_commit(partial(following.follow_at_once, former, beginning, now=now))

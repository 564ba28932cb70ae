"""Reads what decides about cards, and the cards that are to be asked about, as the rows are now."""

from collections.abc import Iterable, Mapping
from dataclasses import fields
from typing import Any

from django.db.models import QuerySet, TextField, Value
from django.db.models.fields.json import KeyTextTransform
from django.db.models.functions import Coalesce

from scheduler.polling.carriers.base import CardRef
from scheduler.polling.models import Card
from scheduler.polling.outcomes import Subject
from scheduler.polling.policy import Facts

# In the order of the attributes of Facts.
FACTS = tuple(field.name for field in fields(Facts))
_REF = tuple(field.name for field in fields(CardRef))
_TIMEZONE = Coalesce(KeyTextTransform("timezone", "account__settings"), Value("UTC"), output_field=TextField())


def with_facts(cards: QuerySet[Card]) -> QuerySet[Card]:
    """Return the cards with all of FACTS as columns: their own, and the time zone of their accounts."""
    return cards.annotate(timezone=_TIMEZONE)


def read(card_ids: Iterable[int]) -> dict[int, Subject]:
    """Return the cards by their ids; those that are gone are left out."""
    found = with_facts(Card.objects.filter(pk__in=list(card_ids)))
    return {row["id"]: _subject(row) for row in found.values(*_REF, *FACTS)}


def facts_of(card: Card) -> Facts:
    """Return what decides about a card that is read already, with its account."""
    zone = card.account.settings.get("timezone") or "UTC"
    return Facts(**{name: getattr(card, name) for name in FACTS if name != "timezone"}, timezone=zone)


def _subject(row: Mapping[str, Any]) -> Subject:
    return Subject(CardRef(**{name: row[name] for name in _REF}), Facts(**{name: row[name] for name in FACTS}))

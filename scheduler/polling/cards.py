"""Reads the cards that are to be asked about, as they are now."""

from collections.abc import Iterable, Mapping
from typing import Any

from scheduler.polling.carriers.base import CardRef
from scheduler.polling.models import Card
from scheduler.polling.outcomes import Subject
from scheduler.polling.policy import Facts

_REF = ("id", "iccid", "msisdn", "imsi")
_FACTS = ("state", "real_name_state", "package", "used_bytes", "allowance_bytes", "reset_day")
_ZONE = "account__settings__timezone"


def read(card_ids: Iterable[int]) -> dict[int, Subject]:
    """Return the cards by their ids; those that are gone are left out."""
    return {
        row["id"]: _subject(row) for row in Card.objects.filter(pk__in=list(card_ids)).values(*_REF, *_FACTS, _ZONE)
    }


def _subject(row: Mapping[str, Any]) -> Subject:
    ref = CardRef(**{name: row[name] for name in _REF})
    return Subject(ref, Facts(**{name: row[name] for name in _FACTS}, timezone=row[_ZONE] or "UTC"))

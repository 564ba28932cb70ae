"""Notices: what happened and is no problem, such as a run that has begun or is done. They are no alerts: nothing is
open afterwards, and only those channels are told that name the kind, with labels that fit. Whoever names it wants it,
from whichever severity on it is told of problems. A silence holds notices back for good: they are not told later.

Events and deliveries are written in the caller's transaction, with what they tell of or not at all.
"""

import json
import uuid
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any

from django.db import connection

from alerts import columns
from alerts.models import Channel
from alerts.states import DeliveryState, Severity, Telling
from project.kit.clock import elapsed

REFRESH_SECONDS = 5.0


@dataclass(frozen=True, slots=True)
class Notice:
    """One thing that happened.

    Attributes:
        kind: by a key of whoever tells it, such as "run_succeeded".
        subject: what it is about, in a few words.
        sentence: what happened.
        facts: further details, as pairs of a label and a value.
        labels: by which channels and silences choose.
        url: where to look, as a path of the control panel.
    """

    kind: str
    subject: str
    sentence: str
    at: datetime
    facts: tuple[tuple[str, str], ...] = ()
    labels: Mapping[str, str] = field(default_factory=dict)
    url: str = ""


class Subscriptions:
    """The kinds that some channel names, as this process knows them: one small question at most every five seconds.

    A channel that names a kind, or is switched on, is heeded by every process at the latest `REFRESH_SECONDS` after
    that is committed; what happens before may not be told to it. One that does not want the kind any more, is off or
    is gone is heeded at once: who is told is decided by the rows, when the notice is written.

    Args:
        clock: seconds on a clock that nobody sets.
    """

    def __init__(self, clock: Callable[[], float] = elapsed) -> None:
        self._clock = clock
        self._kinds: frozenset[str] = frozenset()
        self._asked_at = float("-inf")

    def include(self, kind: str) -> bool:
        """Tell whether some channel names the kind."""
        now = self._clock()
        if now - self._asked_at >= REFRESH_SECONDS:
            self._kinds, self._asked_at = _named_kinds(), now
        return kind in self._kinds


subscriptions = Subscriptions()


def is_wanted(kind: str) -> bool:
    """Tell whether somebody may want a notice of the kind, as `Subscriptions` says.

    It may ask the database, on the caller's connection: not within a transaction in which a statement has failed.
    """
    return subscriptions.include(kind)


def tell(notices: Iterable[Notice]) -> None:
    """Write the notices and their deliveries, in one statement; those that no channel wants are not written."""
    documents = [_document(notice) for notice in notices]
    if documents:
        with connection.cursor() as cursor:
            told = [Telling.NOTICE, Severity.INFO, DeliveryState.WAITING]
            cursor.execute(_TELL, [json.dumps(documents), *told])


def _named_kinds() -> frozenset[str]:
    naming = Channel.objects.filter(enabled=True).exclude(kinds=[])
    return frozenset(kind for kinds in naming.values_list("kinds", flat=True) for kind in kinds)


# The channels are held until the commit: one that is deleted meanwhile would otherwise undo the caller's transaction.
_TELL = (
    "WITH notice AS (SELECT * FROM ROWS FROM (json_to_recordset(%s) AS (id uuid, kind text, title text, text text,"
    " facts jsonb, url text, labels jsonb, at timestamptz)) WITH ORDINALITY),"
    " wanted AS (SELECT notice.id AS event_id, channel.id AS channel_id, notice.at, notice.ordinality FROM notice"
    " JOIN alerts_channel AS channel ON channel.enabled AND channel.kinds ? notice.kind"
    " AND notice.labels @> channel.labels"
    " WHERE NOT EXISTS (SELECT FROM alerts_silence AS silence WHERE silence.starts_at <= notice.at"
    " AND silence.ends_at > notice.at AND silence.kind IN ('', notice.kind) AND notice.labels @> silence.labels)"
    " FOR KEY SHARE OF channel),"
    " event AS (INSERT INTO alerts_event (id, telling, kind, severity, title, text, facts, url, labels, at)"
    " SELECT id, %s, kind, %s, title, text, facts, url, labels, at FROM notice"
    " WHERE id IN (SELECT event_id FROM wanted))"
    " INSERT INTO alerts_delivery (event_id, channel_id, state, due_at, urgency, tries, outcome, code, meaning)"
    " SELECT event_id, channel_id, %s, at, 0, 0, '', '', '' FROM wanted ORDER BY ordinality, channel_id"
)


def _document(notice: Notice) -> dict[str, Any]:
    """Return the columns of the event."""
    return {
        "id": str(uuid.uuid4()),
        "kind": notice.kind,
        "title": columns.line(notice.subject),
        "text": columns.sentences(notice.sentence),
        "facts": columns.facts(notice.facts),
        "url": notice.url,
        "labels": columns.labels(notice.labels),
        "at": notice.at.isoformat(),
    }

"""Raise, repeat, resolve: in the caller's transaction, so that a state and its alert are one commit; and idempotent.

One open alert a problem: a second occurrence is counted on the first one's row, and tells nobody anew.
"""

import hashlib
import json
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from typing import Any

from django.db import transaction
from django.db.models import F, OuterRef, QuerySet

from alerts import columns, routing
from alerts.attention import Attention
from alerts.channels import text
from alerts.models import Alert, Event
from alerts.states import AlertState, Severity, Telling

# Opened so often within an hour, a problem flaps: that is told once, and its comings and goings are not.
FLAPS_AFTER = 4
HOUR = timedelta(hours=1)
LONGEST_FINGERPRINT, LONGEST_URL = 250, 500


@dataclass(frozen=True, slots=True)
class Problem:
    """What is wrong.

    Attributes:
        kind: by a key of whoever raises it, such as "run_failed".
        fingerprint: the same for the same problem.
        subject: what it is about, as a text key such as "run:12".
        title: the same in words, one line.
        sentence: what happened and what to do.
        url: where to look, as a path of the control panel.
        facts: further details, as pairs of a label and a value.
        parent: the fingerprint of the alert that stands over it and speaks for it, while it is open.
    """

    kind: str
    fingerprint: str
    title: str
    sentence: str
    subject: str = ""
    severity: Severity = Severity.WARNING
    labels: Mapping[str, str] = field(default_factory=dict)
    url: str = ""
    facts: tuple[tuple[str, str], ...] = ()
    parent: str = ""


def record_attention(attention: Attention, **_: object) -> None:
    """Raise the alert of what a person should know of; connected to alerts.attention."""
    problem = Problem(
        kind=attention.kind,
        fingerprint=attention.fingerprint,
        title=attention.subject,
        sentence=attention.sentence,
        subject=attention.key,
        severity=attention.severity,
        labels=attention.labels,
        url=attention.url,
        facts=attention.facts,
        parent=attention.parent,
    )
    raise_alert(problem, now=attention.at)


def raise_alert(problem: Problem, *, now: datetime) -> Alert:
    """Open the problem's alert and tell of it, or count the occurrence on the one that is open; return it.

    An open one of which nobody was told, because something stood over it, is told of when that is gone.
    """
    with transaction.atomic(savepoint=False):
        alert = Alert.objects.raw(_UPSERT, _values(problem, now))[0]
        if alert.told_at is None and alert.state == AlertState.OPEN:
            tell_of_opening(alert, now)
    return alert


def tell_of_opening(alert: Alert, now: datetime) -> None:
    """Tell of an open alert, unless something speaks against it: then the row says what."""
    parent = alert.parent
    if parent is not None and parent.resolved_at is None:
        _leave_untold(alert, f"Part of “{parent.title}”.")
    elif silence := routing.silence_over(alert, now):
        _leave_untold(alert, f"Silenced: {silence.reason}")
    elif flapping_of(alert.fingerprint).exists():
        _leave_untold(alert, "It flaps, and that was told.")
    elif (openings := _openings(alert, now)) >= FLAPS_AFTER:
        routing.tell(alert, Telling.FLAPPING, now, f"It came and went {openings} times within an hour.")
    else:
        routing.tell(alert, Telling.OPENED, now, alert.sentence)


def flapping_of(fingerprint: str | OuterRef) -> QuerySet[Event]:
    """Return the flapping of the problem that was told and is not over; see repeating.end_flapping."""
    return Event.objects.filter(telling=Telling.FLAPPING, ended_at__isnull=True, alert__fingerprint=fingerprint)


def resolve_alert(
    fingerprint: str, *, now: datetime, sentence: str = "", actor: str = "", successes_needed: int = 1
) -> bool:
    """Resolve the open alert of the fingerprint, if there is one, and tell those who were told of it.

    Args:
        sentence: why it is well again.
        actor: the person who resolved it; empty: it recovered.
        successes_needed: how often in a row it has to be well before that is believed.

    Returns:
        whether it was resolved by this.
    """
    with transaction.atomic(savepoint=False):
        alert = (
            Alert.objects.select_for_update().filter(fingerprint=_short(fingerprint), resolved_at__isnull=True).first()
        )
        if alert is None:
            return False
        if not actor and alert.well_count + 1 < successes_needed:
            Alert.objects.filter(pk=alert.pk).update(well_count=F("well_count") + 1)
            return False
        _resolve(alert, now, sentence, actor)
    return True


def resolve_alerts(fingerprints: Iterable[str], *, now: datetime, sentence: str = "") -> int:
    """Resolve the open ones of the fingerprints; return how many it were. One question where nothing is open."""
    open_ones = Alert.objects.filter(fingerprint__in=list(fingerprints), resolved_at__isnull=True)
    found = list(open_ones.values_list("fingerprint", flat=True))
    return sum(resolve_alert(fingerprint, now=now, sentence=sentence) for fingerprint in found)


def acknowledge(alert_id: int, *, actor: str, note: str = "") -> bool:
    """Say that somebody sees to it: it is not repeated any more. False: it is not open."""
    open_one = Alert.objects.filter(pk=alert_id, state=AlertState.OPEN)
    return bool(open_one.update(state=AlertState.ACKNOWLEDGED, handler=actor, note=note))


# --- steps -----------------------------------------------------------------------------------------------------


def _values(problem: Problem, now: datetime) -> dict[str, Any]:
    """Return the columns of the alert. What came from elsewhere may hold what no column can."""
    return {
        "kind": problem.kind,
        "severity": problem.severity,
        "fingerprint": _short(problem.fingerprint),
        "subject": problem.subject,
        "title": columns.line(problem.title),
        "sentence": columns.sentences(problem.sentence),
        "labels": json.dumps(columns.labels(problem.labels)),
        "facts": json.dumps(columns.facts(problem.facts)),
        "url": problem.url if len(problem.url) <= LONGEST_URL else "",
        "parent": problem.parent and _short(problem.parent),
        "now": now,
    }


_UPSERT = (
    "INSERT INTO alerts_alert AS alert (kind, severity, fingerprint, subject, title, sentence, labels, facts, url,"
    " parent_id, state, first_at, last_at, count, well_count, told_severity, untold, handler, note, resolved_by)"
    " VALUES (%(kind)s, %(severity)s, %(fingerprint)s, %(subject)s, %(title)s, %(sentence)s, %(labels)s, %(facts)s,"
    " %(url)s,"
    " (SELECT id FROM alerts_alert WHERE fingerprint = %(parent)s AND resolved_at IS NULL"
    " AND fingerprint <> %(fingerprint)s), 'open', %(now)s, %(now)s, 1, 0, '', '', '', '', '')"
    " ON CONFLICT (fingerprint) WHERE resolved_at IS NULL DO UPDATE SET count = alert.count + 1, well_count = 0,"
    " last_at = GREATEST(alert.last_at, EXCLUDED.last_at), sentence = EXCLUDED.sentence, severity = EXCLUDED.severity,"
    " facts = EXCLUDED.facts, parent_id = COALESCE(EXCLUDED.parent_id, alert.parent_id)"
    " RETURNING *"
)


def _short(fingerprint: str) -> str:
    """Return the fingerprint as it is stored: a very long one by its digest."""
    if len(fingerprint) <= LONGEST_FINGERPRINT:
        return fingerprint
    digest = hashlib.sha256(fingerprint.encode(errors="replace")).hexdigest()
    return f"{fingerprint[: LONGEST_FINGERPRINT - len(digest)]}{digest}"


def _openings(alert: Alert, now: datetime) -> int:
    return Alert.objects.filter(fingerprint=alert.fingerprint, first_at__gt=now - HOUR).count()


def _leave_untold(alert: Alert, why: str) -> None:
    why = text.shortened(why, columns.LONGEST_LINE)
    if why != alert.untold:
        alert.untold = why
        alert.save(update_fields=["untold"])


def _resolve(alert: Alert, now: datetime, sentence: str, actor: str) -> None:
    Alert.objects.filter(pk=alert.pk).update(
        state=AlertState.RESOLVED, resolved_at=now, resolved_by=actor, well_count=0
    )
    # What it stood over is told for itself from now on, if it comes again.
    Alert.objects.filter(parent=alert.pk, resolved_at__isnull=True).update(parent=None, untold="")
    if flapping_of(alert.fingerprint).exists():
        return  # told once it is calm: repeating.end_flapping
    said = sentence or (f"Resolved by {actor}." if actor else "It is well again.")
    routing.tell_of_recovery(alert, now, columns.sentences(said))

"""Raise, repeat, resolve: in the caller's transaction, so that a state and its alert are one commit; and idempotent.

One open alert a problem: a second occurrence is counted on the first one's row, and tells nobody anew.
"""

import hashlib
import json
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from datetime import datetime
from typing import Any

from django.db import transaction
from django.db.models import F, Q

from alerts import columns, families, opening, routing
from alerts.attention import Attention
from alerts.channels import text
from alerts.models import Alert
from alerts.routing import Announcement
from alerts.states import AlertState, Severity, Telling

LONGEST_FINGERPRINT, LONGEST_SUBJECT, LONGEST_URL = 250, 200, 500


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
        parent: the fingerprint of the alert that stands over it and speaks for it, while it is open and a grace longer
            (see `alerts.families`). It may be raised in the same call.
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


def raise_alerts(problems: Iterable[Problem], *, now: datetime) -> list[Alert]:
    """Open the alert of each problem and tell of it, or count the occurrence on the one that is open.

    An open one of which nobody was told, because something stood over it, is told of when that is gone. The severity
    of an open one only rises; those are told then who did not want to know of the lower one.

    The number of statements is the same for one problem and for thousands. Two who raise the same ones at once wait
    for each other and count: the rows are locked in the order of their fingerprints.

    Returns:
        the alerts, one for each fingerprint, in the order in which they were named first.
    """
    merged = _merged(problems)
    if not merged:
        return []
    with transaction.atomic(savepoint=False):
        counted = {alert.fingerprint: alert for alert in Alert.objects.raw(_UPSERT, _values(merged.values(), now))}
        alerts = [counted[fingerprint] for fingerprint in merged]
        families.join([(alert, _stored(merged[alert.fingerprint].problem.parent)) for alert in alerts], now)
        opening.tell(filter(opening.is_awaited, alerts), now)
    return alerts


def raise_alert(problem: Problem, *, now: datetime, over: Q | None = None) -> Alert:
    """Raise the alert of one problem, as `raise_alerts` does.

    Args:
        over: which alerts that are open already are part of it: a condition on alerts. What waits to be told of them
            is dropped, so that a storm that has just begun is told once.
    """
    with transaction.atomic(savepoint=False):
        [alert] = raise_alerts([problem], now=now)
        if over is not None:
            families.stand_over(alert, over, now)
    return alert


def resolve_alerts(
    fingerprints: Iterable[str], *, now: datetime, sentence: str = "", actor: str = "", successes_needed: int = 1
) -> int:
    """Resolve the open alerts of the fingerprints, and tell those who were told of them.

    Nothing open costs one statement, and thousands cost as many as one.

    Args:
        sentence: why they are well again.
        actor: the person who resolved them; empty: they recovered.
        successes_needed: how often in a row each has to be well before that is believed. One is right where rows prove
            that the problem is gone; more where one good answer among bad ones proves little, as of a probe or a card.
            Each occurrence in between starts the count anew, and the alert stays the same one.

    Returns:
        how many were resolved by this.
    """
    stored = [_stored(fingerprint) for fingerprint in fingerprints]
    locked = Alert.objects.select_for_update(no_key=True).order_by("fingerprint")
    with transaction.atomic(savepoint=False):
        found = list(locked.filter(fingerprint__in=stored, resolved_at__isnull=True))
        well = [alert for alert in found if actor or alert.well_count + 1 >= successes_needed]
        doubted = {alert.pk for alert in found} - {alert.pk for alert in well}
        if doubted:
            Alert.objects.filter(pk__in=doubted).update(well_count=F("well_count") + 1)
        if well:
            _resolve(well, now, sentence, actor)
    return len(well)


def resolve_alert(
    fingerprint: str, *, now: datetime, sentence: str = "", actor: str = "", successes_needed: int = 1
) -> bool:
    """Resolve the open alert of one fingerprint, as `resolve_alerts` does; tell whether it was resolved by this."""
    count = resolve_alerts([fingerprint], now=now, sentence=sentence, actor=actor, successes_needed=successes_needed)
    return count > 0


def acknowledge(alert_id: int, *, actor: str, note: str = "") -> bool:
    """Say that somebody sees to it: it is not repeated any more. False: it is not open."""
    open_one = Alert.objects.filter(pk=alert_id, state=AlertState.OPEN)
    return bool(open_one.update(state=AlertState.ACKNOWLEDGED, handler=actor, note=note))


# --- steps -----------------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class _Occurrences:
    """The same problem so many times: as it was told last, but no less severe than ever."""

    problem: Problem
    count: int


def _merged(problems: Iterable[Problem]) -> dict[str, _Occurrences]:
    """Return the problems by their fingerprints."""
    merged: dict[str, _Occurrences] = {}
    for problem in problems:
        fingerprint = _stored(problem.fingerprint)
        before = merged.get(fingerprint, _Occurrences(problem, 0))
        severity = max(before.problem.severity, problem.severity, key=routing.RANK.__getitem__)
        parent = problem.parent or before.problem.parent
        merged[fingerprint] = _Occurrences(replace(problem, severity=severity, parent=parent), before.count + 1)
    return merged


def _values(occurrences: Iterable[_Occurrences], now: datetime) -> dict[str, Any]:
    """Return the values of the statement that counts the problems."""
    documents = [_document(same.problem) | {"count": same.count} for same in occurrences]
    return {"problems": json.dumps(documents), "open": AlertState.OPEN, "severities": Severity.values, "now": now}


def _document(problem: Problem) -> dict[str, Any]:
    """Return the columns of the alert. What came from elsewhere may hold what no column can."""
    return {
        "kind": problem.kind,
        "severity": problem.severity,
        "fingerprint": _stored(problem.fingerprint),
        "subject": text.shortened(text.one_line(problem.subject), LONGEST_SUBJECT),
        "title": columns.line(problem.title),
        "sentence": columns.sentences(problem.sentence),
        "labels": columns.labels(problem.labels),
        "facts": columns.facts(problem.facts),
        "url": problem.url if len(problem.url) <= LONGEST_URL else "",
    }


_UPSERT = (
    "INSERT INTO alerts_alert AS alert (kind, severity, fingerprint, subject, title, sentence, labels, facts, url,"
    " state, first_at, last_at, count, well_count, told_severity, untold, handler, note, resolved_by)"
    " SELECT kind, severity, fingerprint, subject, title, sentence, labels, facts, url, %(open)s, %(now)s, %(now)s,"
    " count, 0, '', '', '', '', ''"
    " FROM json_to_recordset(%(problems)s) AS problem (kind text, severity text, fingerprint text, subject text,"
    " title text, sentence text, labels jsonb, facts jsonb, url text, count integer) ORDER BY fingerprint"
    " ON CONFLICT (fingerprint) WHERE resolved_at IS NULL DO UPDATE SET count = alert.count + EXCLUDED.count,"
    " well_count = 0, last_at = GREATEST(alert.last_at, EXCLUDED.last_at), sentence = EXCLUDED.sentence,"
    " facts = EXCLUDED.facts, severity = (%(severities)s::text[])[GREATEST("
    "array_position(%(severities)s, alert.severity::text), array_position(%(severities)s, EXCLUDED.severity::text))]"
    " RETURNING *"
)


def _stored(fingerprint: str) -> str:
    """Return the fingerprint as it is stored: a very long one by its digest."""
    fingerprint = text.one_line(fingerprint)
    if len(fingerprint) <= LONGEST_FINGERPRINT:
        return fingerprint
    digest = hashlib.sha256(fingerprint.encode(errors="replace")).hexdigest()
    return f"{fingerprint[: LONGEST_FINGERPRINT - len(digest)]}{digest}"


def _resolve(alerts: list[Alert], now: datetime, sentence: str, actor: str) -> None:
    Alert.objects.filter(pk__in=[alert.pk for alert in alerts]).update(
        state=AlertState.RESOLVED, resolved_at=now, resolved_by=actor, well_count=0
    )
    flaps = opening.flapping_among(alerts)
    calm = [alert for alert in alerts if alert.fingerprint not in flaps]  # the others: repeating.end_flapping
    said = columns.sentences(sentence or (f"Resolved by {actor}." if actor else "It is well again."))
    routing.tell_of_recoveries(_recoveries(calm, said), now)


def _recoveries(alerts: list[Alert], said: str) -> list[Announcement]:
    """Return what is told of the alerts that are over: why, and how many stand under each that are not."""
    under = families.words_under(alerts)
    texts = {alert: f"{said}\n{under[alert.pk]}" if alert.pk in under else said for alert in alerts}
    return [Announcement(alert, Telling.RECOVERED, words) for alert, words in texts.items()]

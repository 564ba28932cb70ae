"""Raise, repeat, resolve: in the caller's transaction, so that a state and its alert are one commit; and idempotent.

One open alert a problem: a second occurrence is counted on the first one's row, and tells nobody anew.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from datetime import datetime, timedelta

from django.db import connection, transaction
from django.db.models import F

from alerts import masking, routing
from alerts.attention import Attention
from alerts.models import Alert
from alerts.states import AlertState, Severity, Telling

# Opened so often within an hour, a problem flaps: that is told once, and its comings and goings are not.
FLAPS_AFTER = 4
HOUR = timedelta(hours=1)
LONGEST_SENTENCE = 2000


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
    )
    raise_alert(problem, now=attention.at)


def raise_alert(problem: Problem, *, now: datetime) -> Alert:
    """Open the problem's alert and tell of it, or count the occurrence on the one that is open; return it."""
    sentence = masking.masked(problem.sentence)[:LONGEST_SENTENCE]
    with transaction.atomic():
        alert_id, opened = _upsert(problem, sentence, now)
        alert = Alert.objects.select_related("parent").get(pk=alert_id)
        if opened:
            _tell_of_opening(alert, now)
    return alert


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
    with transaction.atomic():
        alert = Alert.objects.select_for_update().filter(fingerprint=fingerprint, resolved_at__isnull=True).first()
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


def _upsert(problem: Problem, sentence: str, now: datetime) -> tuple[int, bool]:
    """Insert the alert or count the occurrence, in one statement; return its id and whether it was opened."""
    parent = Alert.objects.filter(fingerprint=problem.parent, resolved_at__isnull=True).values_list("pk", flat=True)
    values = {
        "kind": problem.kind,
        "severity": problem.severity,
        "fingerprint": problem.fingerprint,
        "subject": problem.subject,
        "title": masking.masked(problem.title)[:300],
        "sentence": sentence,
        "labels": Alert._meta.get_field("labels").get_db_prep_save(dict(problem.labels), connection),
        "url": problem.url,
        "parent": parent.first() if problem.parent else None,
        "now": now,
    }
    with connection.cursor() as cursor:
        cursor.execute(_UPSERT, values)
        alert_id, opened = cursor.fetchone()
    return alert_id, opened


_UPSERT = (
    "INSERT INTO alerts_alert AS alert (kind, severity, fingerprint, subject, title, sentence, labels, url, parent_id,"
    " state, first_at, last_at, count, well_count, untold, handler, note, resolved_by)"
    " VALUES (%(kind)s, %(severity)s, %(fingerprint)s, %(subject)s, %(title)s, %(sentence)s, %(labels)s, %(url)s,"
    " %(parent)s, 'open', %(now)s, %(now)s, 1, 0, '', '', '', '')"
    " ON CONFLICT (fingerprint) WHERE resolved_at IS NULL DO UPDATE SET count = alert.count + 1, well_count = 0,"
    " last_at = GREATEST(alert.last_at, EXCLUDED.last_at), sentence = EXCLUDED.sentence, severity = EXCLUDED.severity"
    " RETURNING id, xmax = 0"
)


def _tell_of_opening(alert: Alert, now: datetime) -> None:
    """Tell of a new alert, unless something speaks against it: then the row says what."""
    openings = _openings(alert, now)
    if alert.parent is not None:
        _leave_untold(alert, f"Part of “{alert.parent.title}”.")
    elif silence := routing.silence_over(alert, now):
        _leave_untold(alert, f"Silenced: {silence.reason}")
    elif openings == FLAPS_AFTER:
        routing.tell(alert, Telling.FLAPPING, now, f"It came and went {openings} times within an hour.")
    elif openings > FLAPS_AFTER:
        _leave_untold(alert, "It flaps, and that was told.")
    else:
        routing.tell(alert, Telling.OPENED, now, alert.sentence)


def _openings(alert: Alert, now: datetime) -> int:
    return Alert.objects.filter(fingerprint=alert.fingerprint, first_at__gt=now - HOUR).count()


def _flaps(alert: Alert, now: datetime) -> bool:
    return _openings(alert, now) >= FLAPS_AFTER


def _leave_untold(alert: Alert, why: str) -> None:
    Alert.objects.filter(pk=alert.pk).update(untold=why)


def _resolve(alert: Alert, now: datetime, sentence: str, actor: str) -> None:
    Alert.objects.filter(pk=alert.pk).update(
        state=AlertState.RESOLVED, resolved_at=now, resolved_by=actor, well_count=0
    )
    # What it stood over is told for itself from now on, if it comes again.
    Alert.objects.filter(parent=alert.pk).update(parent=None)
    if _flaps(alert, now):
        return  # told once it is calm: repeating.end_flapping
    said = sentence or (f"Resolved by {actor}." if actor else "It is well again.")
    routing.tell_of_recovery(alert, now, said)

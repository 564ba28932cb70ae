"""Alerts that stand over others, as a carrier account's over those of its cards. While the parent is open it speaks for
its children: nobody is told of them, and what was about to be told is dropped.

When the parent is resolved, its children are given a grace to recover too. Those that are open after it are told for
themselves, by `repeating.tell_untold`; those whose parent has opened again meanwhile are put back under it.
"""

from collections.abc import Iterable, Sequence
from datetime import datetime, timedelta
from typing import Any

from django.db import connection, transaction
from django.db.models import Count, OuterRef, Q, QuerySet, Subquery

from alerts.channels import text
from alerts.columns import LONGEST_LINE
from alerts.models import Alert
from alerts.states import DeliveryOutcome, DeliveryState

# So long after its end a parent still speaks: cards recover one after another, each with its next check.
GRACE = timedelta(minutes=15)


def join(named: Sequence[tuple[Alert, str]], now: datetime) -> None:
    """Put each alert under the open one whose fingerprint it names, if there is one.

    Args:
        named: alerts that the caller has locked, each with the fingerprint of its parent or an empty text.
    """
    fingerprints = {fingerprint for _, fingerprint in named if fingerprint}
    if not fingerprints:
        return
    parents = {parent.fingerprint: parent for parent in _open().filter(fingerprint__in=fingerprints)}
    found = [(alert, parents[fingerprint]) for alert, fingerprint in named if fingerprint in parents]
    _put_under([(alert, parent) for alert, parent in found if parent.pk not in {alert.pk, alert.parent_id}], now)


def stand_over(parent: Alert, condition: Q, now: datetime) -> None:
    """Put the open alerts for which the condition holds under the parent, unless another open one speaks for them.

    One that somebody raises or resolves at this very moment is not waited for, so that nobody waits in a circle; it is
    put there when the parent occurs next.
    """
    spoken_for = Q(parent__isnull=False, parent__resolved_at__isnull=True)
    children = _unlocked().filter(condition).exclude(spoken_for).exclude(pk__in=[parent.pk, parent.parent_id or 0])
    with transaction.atomic(savepoint=False):
        _put_under([(child, parent) for child in children], now)


def rejoin(now: datetime) -> None:
    """Put open alerts whose parent was resolved and has opened again under it again."""
    again = _open().filter(fingerprint=OuterRef("parent__fingerprint")).values("pk")
    left = _unlocked().filter(parent__resolved_at__isnull=False).annotate(again=Subquery(again[:1]))
    with transaction.atomic():
        found = {child: child.again for child in left.filter(again__isnull=False)}
        parents = Alert.objects.in_bulk(set(found.values()))
        _put_under([(child, parents[again]) for child, again in found.items()], now)


def spoken_for(alerts: Iterable[Alert], now: datetime) -> set[int]:
    """Return those of the alerts, by their number, for which a parent speaks."""
    under = {alert.pk: alert.parent_id for alert in alerts if alert.parent_id is not None}
    if not under:
        return set()
    alone = set(Alert.objects.filter(on_its_own(now), pk__in=under).values_list("pk", flat=True))
    return under.keys() - alone


def on_its_own(now: datetime, alert: str = "") -> Q:
    """Return the condition that no parent speaks for an alert, or for the one to which the path leads."""
    return Q((f"{alert}parent__isnull", True)) | Q((f"{alert}parent__resolved_at__lte", now - GRACE))


def counted_under(alerts: Iterable[Alert]) -> dict[int, int]:
    """Return by the number of a parent how many open alerts stand under it; those with none are left out."""
    children = _open().filter(parent__in=[alert.pk for alert in alerts])
    return dict(children.order_by().values_list("parent").annotate(Count("pk")))


def count_under() -> Subquery:
    """Return the same number as a column of a question about alerts; empty where there are none."""
    children = _open().filter(parent=OuterRef("pk")).order_by().values("parent")
    return Subquery(children.annotate(count=Count("pk")).values("count"))


def words_under(alerts: Iterable[Alert]) -> dict[int, str]:
    """Return by the number of a parent the sentence that says how many open alerts stand under it."""
    return {parent: _in_words(count) for parent, count in counted_under(alerts).items()}


# --- steps -----------------------------------------------------------------------------------------------------


def _open() -> QuerySet[Alert]:
    return Alert.objects.filter(resolved_at__isnull=True)


def _unlocked() -> QuerySet[Alert]:
    return _open().select_for_update(skip_locked=True, no_key=True, of=("self",))


def _in_words(count: int) -> str:
    return "1 alert stands under it." if count == 1 else f"{count:,} alerts stand under it."


def _put_under(pairs: Sequence[tuple[Alert, Alert]], now: datetime) -> None:
    """Put each first alert of a pair under the second, and drop what waits to be told of it."""
    if not pairs:
        return
    values: dict[str, Any] = {
        "ids": [alert.pk for alert, _ in pairs],
        "parents": [parent.pk for _, parent in pairs],
        "reasons": [text.shortened(f"Part of “{parent.title}”.", LONGEST_LINE) for _, parent in pairs],
        "silent": [DeliveryState.FAILED, DeliveryState.DROPPED],
        "waiting": DeliveryState.WAITING,
        "dropped": DeliveryState.DROPPED,
        "ambiguous": DeliveryOutcome.AMBIGUOUS,
        "now": now,
    }
    if any(alert.told_at is not None for alert, _ in pairs):
        with connection.cursor() as cursor:
            cursor.execute(_DROP, values)
    moved = {alert.pk: alert for alert in Alert.objects.raw(_MOVE, values)}
    for alert, _ in pairs:
        row = moved[alert.pk]
        alert.parent_id, alert.untold = row.parent_id, row.untold
        alert.told_at, alert.told_severity = row.told_at, row.told_severity


# Those that a sender has in hand are left to it, and so are those that may have arrived.
_DROP = (
    "WITH waiting AS (SELECT delivery.id, child.reason"
    " FROM unnest(%(ids)s::bigint[], %(reasons)s::text[]) AS child (id, reason)"
    " JOIN alerts_event AS event ON event.alert_id = child.id"
    " JOIN alerts_delivery AS delivery ON delivery.event_id = event.id"
    " WHERE delivery.state = %(waiting)s AND delivery.outcome <> %(ambiguous)s"
    " FOR NO KEY UPDATE OF delivery SKIP LOCKED)"
    " UPDATE alerts_delivery AS delivery SET state = %(dropped)s, meaning = waiting.reason, ended_at = %(now)s"
    " FROM waiting WHERE delivery.id = waiting.id"
)
# One of which nobody was told after all is untold again.
_MOVE = (
    "UPDATE alerts_alert AS alert SET parent_id = child.parent_id,"
    " untold = CASE WHEN told.already THEN alert.untold ELSE child.reason END,"
    " told_at = CASE WHEN told.already THEN alert.told_at END,"
    " told_severity = CASE WHEN told.already THEN alert.told_severity ELSE '' END"
    " FROM unnest(%(ids)s::bigint[], %(parents)s::bigint[], %(reasons)s::text[]) AS child (id, parent_id, reason),"
    " LATERAL (SELECT EXISTS (SELECT FROM alerts_event AS event"
    " JOIN alerts_delivery AS delivery ON delivery.event_id = event.id"
    " WHERE event.alert_id = child.id AND delivery.state <> ALL (%(silent)s)) AS already) AS told"
    " WHERE alert.id = child.id RETURNING alert.*"
)

"""Alerts that are not resolved, and how telling them goes."""

from collections.abc import Iterator
from datetime import datetime

from django.db.models import Count, Min, Q

from alerts.models import Alert, Channel, Delivery
from alerts.states import AlertState, DeliveryState, Severity
from project.metrics.definitions import (
    LATELY,
    MORE_THAN_SHOWN,
    MOST_ROWS,
    MOST_SHOWN,
    Figure,
    by_value,
    gauge,
    label_of,
    seconds_since,
)

UNFINISHED = (DeliveryState.WAITING, DeliveryState.SENDING)
ENDED = tuple(state for state in DeliveryState if state not in UNFINISHED)
UNRESOLVED = (AlertState.OPEN, AlertState.ACKNOWLEDGED)

ALERTS = gauge("tideline_alerts", "Alerts that are not resolved.", "state", "severity")
DELIVERIES = gauge("tideline_deliveries", "Deliveries that have not ended.", "state")
OLDEST_DUE = gauge(
    "tideline_deliveries_oldest_due_seconds",
    "For how long the delivery that is due for longest has been; quiet hours and limits count; 0: none is.",
)
DELIVERIES_ENDED = gauge(
    "tideline_deliveries_ended_lately",
    f"Deliveries that ended in the last 5 minutes by how, of the latest {MOST_ROWS:,} that were begun.",
    "state",
)
CHANNEL_FAILURES = gauge("tideline_channel_failures", "Failures in a row of a channel that is on.", "channel")
METRICS = (ALERTS, DELIVERIES, OLDEST_DUE, DELIVERIES_ENDED, CHANNEL_FAILURES, MORE_THAN_SHOWN)


def figures(now: datetime) -> Iterator[Figure]:
    """Yield the figures, with four queries."""
    yield from _alerts()
    yield from _unfinished(now)
    yield from by_value(DELIVERIES_ENDED, ENDED, _ended(now))
    yield from _channels()


def _alerts() -> Iterator[Figure]:
    rows = Alert.objects.filter(resolved_at__isnull=True).order_by().values_list("state", "severity")
    counts = {(state, severity): count for state, severity, count in rows.annotate(count=Count("id"))}
    for state in UNRESOLVED:
        for severity in Severity.values:
            yield ALERTS.at(counts.get((state.value, severity), 0), state.value, severity)


def _unfinished(now: datetime) -> Iterator[Figure]:
    rows = Delivery.objects.filter(state__in=UNFINISHED).order_by().values("state")
    counted = list(rows.annotate(count=Count("id"), oldest=Min("due_at", filter=Q(due_at__lte=now))))
    yield from by_value(DELIVERIES, UNFINISHED, {each["state"]: each["count"] for each in counted})
    due = [each["oldest"] for each in counted if each["oldest"] is not None]
    yield OLDEST_DUE.at(seconds_since(min(due, default=None), now))


def _ended(now: datetime) -> dict[str, int]:
    lately = Q(ended_at__gte=now - LATELY)
    counted = {state.value: Count("id", filter=lately & Q(state=state)) for state in ENDED}
    return Delivery.objects.order_by("-id")[:MOST_ROWS].aggregate(**counted)


def _channels() -> Iterator[Figure]:
    rows = Channel.objects.filter(enabled=True).order_by("-failures", "pk").values_list("pk", "name", "failures")
    found = list(rows[: MOST_SHOWN + 1])
    yield MORE_THAN_SHOWN.at(len(found) > MOST_SHOWN, "channels")
    yield from (CHANNEL_FAILURES.at(failures, label_of(name, pk)) for pk, name, failures in found[:MOST_SHOWN])

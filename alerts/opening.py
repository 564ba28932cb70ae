"""Telling that a problem is there: of an alert that opens, and of one that has become more severe, to those who want to
know of that much; unless something speaks against it, which the row then says.
"""

from collections.abc import Iterable
from datetime import datetime, timedelta

from django.db import connection
from django.db.models import Count, F, Q, QuerySet

from alerts import families, routing
from alerts.channels import text
from alerts.columns import LONGEST_LINE
from alerts.models import Alert, Event
from alerts.routing import Announcement
from alerts.states import AlertState, Telling

# Opened so often within an hour, a problem flaps: that is told once, and its comings and goings are not.
FLAPS_AFTER = 4
HOUR = timedelta(hours=1)


def is_awaited(alert: Alert) -> bool:
    """Tell whether an open alert is still to be told, or to be told as severe as it is by now.

    One that somebody sees to is told only to those who want to know of worse than was told before.
    """
    return alert.severity != alert.told_severity and (alert.state == AlertState.OPEN or alert.told_at is not None)


def awaited() -> QuerySet[Alert]:
    """Return the open alerts for which `is_awaited` holds."""
    unheeded = Q(state=AlertState.OPEN) | Q(told_at__isnull=False)
    return Alert.objects.filter(unheeded, resolved_at__isnull=True).exclude(severity=F("told_severity"))


def tell(alerts: Iterable[Alert], now: datetime) -> None:
    """Tell of alerts that are awaited, each unless something speaks against it; the caller has locked them."""
    alerts = list(alerts)
    spoken_for = families.spoken_for(alerts, now)
    alone = [alert for alert in alerts if alert.pk not in spoken_for]
    if not alone:
        return
    obstacles = _obstacles(alone, now)
    _leave_untold([alert for alert in alone if alert.pk in obstacles], obstacles)
    routing.tell_of_openings(_announced([alert for alert in alone if alert.pk not in obstacles], now), now)


def flapping() -> QuerySet[Event]:
    """Return the flappings that were told and are not over; see repeating.end_flapping."""
    return Event.objects.filter(telling=Telling.FLAPPING, alert__isnull=False, ended_at__isnull=True)


def flapping_among(alerts: Iterable[Alert]) -> set[str]:
    """Return the fingerprints of those alerts whose problem flaps: that was told, and is not over."""
    found = flapping().filter(alert__fingerprint__in=[alert.fingerprint for alert in alerts])
    return set(found.values_list("alert__fingerprint", flat=True))


# --- steps -----------------------------------------------------------------------------------------------------


def _obstacles(alerts: list[Alert], now: datetime) -> dict[int, str]:
    """Return by the number of an alert what speaks against telling of it."""
    flaps = flapping_among(alerts)
    reasons = {alert.pk: "It flaps, and that was told." for alert in alerts if alert.fingerprint in flaps}
    silences = routing.silences_over(alerts, now)
    return reasons | {alert_id: f"Silenced: {reason}" for alert_id, reason in silences.items()}


def _announced(alerts: list[Alert], now: datetime) -> list[Announcement]:
    """Return what is told of the alerts: that they opened, or that they open and end again and again."""
    openings = _openings(alerts, now)
    return [_announcement(alert, openings.get(alert.fingerprint, 0)) for alert in alerts]


def _announcement(alert: Alert, openings: int) -> Announcement:
    if openings:
        return Announcement(alert, Telling.FLAPPING, f"It came and went {openings} times within an hour.")
    return Announcement(alert, Telling.OPENED, alert.sentence)


def _openings(alerts: list[Alert], now: datetime) -> dict[str, int]:
    """Return by fingerprint how often those opened lately that did so too often."""
    lately = Alert.objects.filter(fingerprint__in=[alert.fingerprint for alert in alerts], first_at__gt=now - HOUR)
    counted = lately.order_by().values("fingerprint").annotate(openings=Count("pk")).filter(openings__gte=FLAPS_AFTER)
    return dict(counted.values_list("fingerprint", "openings"))


def _leave_untold(alerts: list[Alert], reasons: dict[int, str]) -> None:
    """Write why nobody is told of the alerts, where that is not written already."""
    changed = []
    for alert in alerts:
        why = text.shortened(reasons[alert.pk], LONGEST_LINE)
        if why != alert.untold:
            alert.untold = why
            changed.append(alert)
    if changed:
        with connection.cursor() as cursor:
            cursor.execute(_LEAVE, [[alert.pk for alert in changed], [alert.untold for alert in changed]])


_LEAVE = (
    "UPDATE alerts_alert SET untold = said.why FROM unnest(%s::bigint[], %s::text[]) AS said (id, why)"
    " WHERE alerts_alert.id = said.id"
)

"""What an alert's page shows: what happened, who was told and how that went, and the same problem before."""

from datetime import datetime
from typing import Any

from django.db.models import Prefetch
from django.utils.html import format_html
from django.utils.translation import gettext as _

from alerts.admin import cells
from alerts.families import counted_under
from alerts.kinds import kind_label
from alerts.models import Alert, Delivery, Event
from alerts.states import AlertState
from project.kit.admin import row_link, when

EVENTS_SHOWN = 20
CHILDREN_SHOWN = 50
HISTORY_SHOWN = 20


def overview(alert: Alert, now: datetime) -> dict[str, Any]:
    """Return what the page shows of the alert."""
    children = Alert.objects.filter(parent=alert).order_by("-last_at")[:CHILDREN_SHOWN]
    before = Alert.objects.filter(fingerprint=alert.fingerprint).exclude(pk=alert.pk).order_by("-first_at")
    return {
        "badges": format_html("{} {}", cells.severity_badge(alert.severity), cells.state_badge(alert)),
        "since": when(alert.resolved_at or alert.first_at, now),
        "next_step": _next_step(alert),
        "facts": _facts(alert, now),
        "events": [_event_line(event, now) for event in _latest_events(alert)],
        "children": [_alert_line(child, now) for child in children],
        "history": [_alert_line(earlier, now) for earlier in before[:HISTORY_SHOWN]],
    }


def _next_step(alert: Alert) -> str:
    """Return what is expected of a person, as a sentence; empty where nothing is."""
    match AlertState(alert.state):
        case AlertState.OPEN:
            return _("Nobody sees to it yet. Acknowledge it if you do.")
        case AlertState.ACKNOWLEDGED:
            return _("%(who)s sees to it.") % {"who": alert.handler or _("Somebody")}
    return ""


def _facts(alert: Alert, now: datetime) -> list[tuple[str, Any]]:
    """Return what is known of the alert, as labels and values; what does not apply is left out."""
    resolved = alert.resolved_at is not None
    under = counted_under([alert]).get(alert.pk, 0)
    facts: list[tuple[str, Any]] = [
        (_("where to look"), cells.where(alert)),
        (_("kind"), format_html('<span title="{}">{}</span>', alert.kind, kind_label(alert.kind))),
        (_("first"), when(alert.first_at, now)),
        (_("last"), when(alert.last_at, now)),
        (_("occurrences"), f"{alert.count:,}"),
        (_("told"), cells.told(alert, now)),
        (_("part of"), row_link(alert.parent) if alert.parent else ""),
        (_("open alerts under it"), f"{under:,}" if under else ""),
        (_("handled by"), alert.handler),
        (_("resolved"), when(alert.resolved_at, now) if resolved else ""),
        (_("resolved by"), (alert.resolved_by or _("it recovered")) if resolved else ""),
        *alert.facts,
        (_("labels"), cells.labels(alert.labels) if alert.labels else ""),
        (_("fingerprint"), format_html("<code>{}</code>", alert.fingerprint)),
    ]
    return [fact for fact in facts if fact[1]]


def _latest_events(alert: Alert) -> list[Event]:
    deliveries = Delivery.objects.select_related("channel").defer("channel__address", "channel__secrets")
    events = Event.objects.filter(alert=alert).prefetch_related(Prefetch("deliveries", deliveries.order_by("id")))
    return list(events.order_by("-at", "-id")[:EVENTS_SHOWN])


def _event_line(event: Event, now: datetime) -> dict[str, Any]:
    return {
        "badge": cells.telling_badge(event),
        "at": when(event.at, now),
        "text": event.text,
        "deliveries": [_delivery_line(delivery, now) for delivery in event.deliveries.all()],
    }


def _delivery_line(delivery: Delivery, now: datetime) -> dict[str, Any]:
    return {
        "channel": row_link(delivery.channel),
        "badge": cells.delivery_badge(delivery),
        "code": delivery.code,
        "meaning": delivery.meaning,
        "tries": delivery.tries,
        "at": when(delivery.ended_at or delivery.due_at, now),
    }


def _alert_line(alert: Alert, now: datetime) -> dict[str, Any]:
    return {
        "alert": row_link(alert),
        "badges": format_html("{} {}", cells.severity_badge(alert.severity), cells.state_badge(alert)),
        "first": when(alert.first_at, now),
        "last": when(alert.last_at, now),
        "count": f"{alert.count:,}",
        "ended": when(alert.resolved_at, now),
    }

"""Who is told what: an event is written with a delivery for each channel that wants it, in the caller's transaction."""

from collections.abc import Iterable
from datetime import datetime

from django.db.models import Q, QuerySet

from alerts.models import Alert, Channel, Delivery, Event, Silence
from alerts.states import DeliveryState, Severity, Telling

_RANK = {severity: rank for rank, severity in enumerate(Severity.values)}


def tell(alert: Alert, telling: Telling, now: datetime, text: str) -> Event:
    """Write the event and its deliveries to the channels that want it."""
    # A channel is not told of its own failures: that would feed the jam.
    others = (channel for channel in Channel.objects.filter(enabled=True) if subject_of(channel) != alert.subject)
    return tell_channels(alert, telling, now, text, [channel for channel in others if wants(channel, alert)])


def tell_channels(alert: Alert, telling: Telling, now: datetime, text: str, channels: Iterable[Channel]) -> Event:
    """Write the event and its deliveries to these channels."""
    event = _event(alert, telling, now, text)
    Delivery.objects.bulk_create(Delivery(event=event, channel=channel, due_at=now) for channel in channels)
    alert.told_at, alert.told_severity, alert.untold = now, alert.severity, ""
    alert.save(update_fields=["told_at", "told_severity", "untold"])
    return event


def subject_of(channel: Channel) -> str:
    """Return the text key of the channel."""
    return f"channel:{channel.pk}"


def tell_of_recovery(alert: Alert, now: datetime, text: str) -> None:
    """Tell those channels of the recovery that were told of the opening, and no others.

    A channel that has not been told yet is told only if it will have been: the delivery waits for the earlier one.
    """
    openings = told().filter(event__alert=alert, event__telling__in=[Telling.OPENED, Telling.FLAPPING])
    latest = {delivery.channel_id: delivery for delivery in openings.order_by("id")}
    if latest:
        event = _event(alert, Telling.RECOVERED, now, text)
        Delivery.objects.bulk_create(
            Delivery(event=event, channel_id=channel_id, due_at=now, after=opening)
            for channel_id, opening in latest.items()
        )


def told() -> QuerySet[Delivery]:
    """Return the deliveries that have told somebody, or still may."""
    return Delivery.objects.exclude(state__in=[DeliveryState.FAILED, DeliveryState.DROPPED])


def wants(channel: Channel, what: Alert | Event) -> bool:
    """Tell whether the channel wants to know, by kind, severity and labels."""
    if channel.kinds and what.kind not in channel.kinds:
        return False
    if _RANK[what.severity] < _RANK[channel.least_severity]:
        return False
    return all(what.labels.get(name) == value for name, value in channel.labels.items())


def silence_over(alert: Alert, now: datetime) -> Silence | None:
    """Return the silence that covers the alert now, the longest one; None if there is none."""
    of_kind = in_force(now).filter(Q(kind="") | Q(kind=alert.kind))
    return of_kind.filter(labels__contained_by=alert.labels).order_by("-ends_at").first()


def in_force(now: datetime) -> QuerySet[Silence]:
    """Return the silences that have begun and not ended."""
    return Silence.objects.filter(starts_at__lte=now, ends_at__gt=now)


def _event(alert: Alert, telling: Telling, now: datetime, text: str) -> Event:
    return Event.objects.create(
        alert=alert,
        telling=telling,
        kind=alert.kind,
        severity=alert.severity,
        title=alert.title,
        text=text,
        facts=alert.facts,
        url=alert.url,
        labels=alert.labels,
        at=now,
    )

"""What time alone does to alerts: open ones are told again, and flapping ones are judged once they are calm."""

from datetime import datetime, timedelta

from django.db import transaction

from alerts import routing
from alerts.models import Alert, Channel, Delivery, Event
from alerts.states import AlertState, DeliveryState, Telling

BATCH = 200
# A problem that flapped is calm when it has not changed for so long.
CALM = timedelta(hours=1)


def repeat_open(*, now: datetime) -> int:
    """Tell open alerts again to the channels that want that, each after the hours it says; return how many were told.

    Only to those that were told of it before, and never of one that somebody sees to.
    """
    shortest = Channel.objects.filter(enabled=True, repeat_hours__isnull=False).order_by("repeat_hours").first()
    if shortest is None or shortest.repeat_hours is None:
        return 0
    due = Alert.objects.filter(state=AlertState.OPEN, told_at__lte=now - timedelta(hours=shortest.repeat_hours))
    return sum(_repeat(alert, now) for alert in due.order_by("told_at")[:BATCH])


def _repeat(alert: Alert, now: datetime) -> int:
    """Write the repetition and its deliveries, unless a silence covers the alert."""
    with transaction.atomic():
        locked = Alert.objects.select_for_update(skip_locked=True).filter(pk=alert.pk, told_at=alert.told_at).first()
        if locked is None or locked.state != AlertState.OPEN or routing.silence_over(locked, now):
            return 0
        channels = _due_channels(locked, now)
        if not channels:
            return 0
        text = f"{locked.sentence}\nIt is open since {locked.first_at:%Y-%m-%d %H:%M} UTC, {locked.count} times so far."
        routing.tell_channels(locked, Telling.REPEATED, now, text, channels)
    return 1


def _due_channels(alert: Alert, now: datetime) -> list[Channel]:
    told = Delivery.objects.filter(event__alert=alert).exclude(state__in=[DeliveryState.FAILED, DeliveryState.DROPPED])
    latest: dict[int, datetime] = {}
    for channel_id, at in told.order_by("event__at").values_list("channel", "event__at"):
        latest[channel_id] = at
    channels = Channel.objects.filter(pk__in=latest, enabled=True, repeat_hours__isnull=False)
    return [
        channel
        for channel in channels
        if channel.repeat_hours is not None and latest[channel.pk] + timedelta(hours=channel.repeat_hours) <= now
    ]


def end_flapping(*, now: datetime) -> int:
    """Tell how the problems that flapped have ended up, once they are calm; return how many were told.

    A channel that was told of the flapping is told of the recovery if the problem is gone: compared with what it was
    told last.
    """
    flapping = Event.objects.filter(telling=Telling.FLAPPING, alert__isnull=False, ended_at__isnull=True)
    return sum(_end_flapping(event, now) for event in flapping.select_related("alert")[:BATCH])


def _end_flapping(event: Event, now: datetime) -> int:
    alert = event.alert
    if alert is None:
        return 0
    latest = Alert.objects.filter(fingerprint=alert.fingerprint).order_by("-id").first()
    changed = max(latest.first_at, latest.resolved_at or latest.first_at) if latest else event.at
    if changed > now - CALM:
        return 0
    with transaction.atomic():
        won = Event.objects.filter(pk=event.pk, ended_at__isnull=True).update(ended_at=now)
        if won and latest is not None and latest.resolved_at is not None:
            routing.tell_of_recovery(alert, now, "It has stopped coming and going, and is well.")
    return won

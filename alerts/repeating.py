"""What time alone does to alerts: open ones are told again; untold ones when the silence is over, or the parent for
some time; and flapping ones are judged once they are calm.
"""

from collections.abc import Iterable
from datetime import datetime, timedelta
from itertools import islice

from django.db import transaction
from django.db.models import Exists, Max, OuterRef, Subquery
from django.db.models.functions import Coalesce

from alerts import families, opening, routing
from alerts.models import Alert, Channel, Event
from alerts.routing import Announcement
from alerts.states import AlertState, Telling

BATCH = 200
# A problem that flapped is calm when it has not changed for so long.
CALM = timedelta(hours=1)


def repeat_open(*, now: datetime) -> int:
    """Tell open alerts again to the channels that want that, each after the hours it says; return how many were told.

    Only to those that were told of it before, and never of one that somebody sees to or that another speaks for.
    """
    due = {alert_id for channel in _repeated_to() for alert_id in _due_in(channel, now)}
    told = filter(None, (_repeat(alert_id, now) for alert_id in sorted(due)))
    return sum(islice(told, BATCH))


def _repeated_to() -> Iterable[Channel]:
    return Channel.objects.filter(enabled=True, repeat_hours__isnull=False)


def _due_in(channel: Channel, now: datetime) -> Iterable[int]:
    """Return the open alerts of which the channel was told last so long ago that it wants to be told again."""
    alone = families.on_its_own(now, "event__alert__")
    told = routing.told().filter(alone, channel=channel, event__alert__state=AlertState.OPEN)
    latest = told.order_by().values("event__alert").annotate(latest=Max("event__at"))
    return latest.filter(latest__lte=now - _pause(channel)).values_list("event__alert", flat=True)


def _pause(channel: Channel) -> timedelta:
    return timedelta(hours=channel.repeat_hours or 0)


def _repeat(alert_id: int, now: datetime) -> int:
    """Write the repetition and its deliveries, unless a silence covers the alert."""
    with transaction.atomic():
        alert = Alert.objects.select_for_update(skip_locked=True).filter(pk=alert_id, state=AlertState.OPEN).first()
        if alert is None or routing.silences_over([alert], now):
            return 0
        channels = _due_channels(alert, now)
        if not channels:
            return 0
        routing.tell(Announcement(alert, Telling.REPEATED, _still_open(alert)), channels, now)
    return 1


def _still_open(alert: Alert) -> str:
    times = "once" if alert.count == 1 else f"{alert.count:,} times"
    since = f"Open since {alert.first_at:%Y-%m-%d %H:%M} UTC; it occurred {times}."
    return "\n".join([alert.sentence, since, *families.words_under([alert]).values()])


def _due_channels(alert: Alert, now: datetime) -> list[Channel]:
    told = routing.told().filter(event__alert=alert).order_by("event__at")
    latest = dict(told.values_list("channel", "event__at"))
    return [
        channel for channel in _repeated_to() if channel.pk in latest and latest[channel.pk] + _pause(channel) <= now
    ]


def tell_untold(*, now: datetime) -> int:
    """Tell of what is still open when nothing speaks against it any more: the silence over it has ended, it flaps no
    longer, or its parent was resolved a grace ago. Return of how many.
    """
    families.rejoin(now)
    flapping = opening.flapping().filter(alert__fingerprint=OuterRef("fingerprint"))
    uncovered = opening.awaited().exclude(Exists(routing.covering(now))).exclude(Exists(flapping))
    alone = uncovered.filter(families.on_its_own(now)).order_by("first_at", "pk")
    with transaction.atomic():
        found = list(alone.select_for_update(skip_locked=True, no_key=True, of=("self",))[:BATCH])
        opening.tell(found, now)
    return len(found)


def end_flapping(*, now: datetime) -> int:
    """Tell how the problems that flapped have ended up, once they are calm; return how many were told.

    Those that were told of the flapping are told that the problem is gone, or that it has stayed: compared with what
    they were told last.
    """
    changed = Coalesce("resolved_at", "first_at")
    same = Alert.objects.filter(fingerprint=OuterRef("alert__fingerprint")).order_by("-id")
    calm = opening.flapping().annotate(changed=Subquery(same.values_list(changed)[:1])).filter(changed__lte=now - CALM)
    return sum(_end_flapping(event, now) for event in calm.select_related("alert").order_by("at")[:BATCH])


def _end_flapping(event: Event, now: datetime) -> int:
    alert = event.alert
    if alert is None:
        return 0
    with transaction.atomic():
        latest = Alert.objects.select_for_update().filter(fingerprint=alert.fingerprint).order_by("-id").first()
        if latest is None or (latest.resolved_at or latest.first_at) > now - CALM:
            return 0
        if not Event.objects.filter(pk=event.pk, ended_at__isnull=True).update(ended_at=now):
            return 0
        if latest.resolved_at is not None:
            well = Announcement(alert, Telling.RECOVERED, "It has stopped coming and going, and is well.")
            routing.tell_of_recoveries([well], now)
        else:
            _tell_that_it_stayed(event, latest, now)
    return 1


def _tell_that_it_stayed(event: Event, alert: Alert, now: datetime) -> None:
    channels = Channel.objects.filter(pk__in=routing.told().filter(event=event).values("channel"))
    text = f"It has stopped coming and going, and stayed. {alert.sentence}"
    routing.tell(Announcement(alert, Telling.OPENED, text), channels, now)

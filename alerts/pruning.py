"""What of the alerts' history goes, and when: resolved alerts with all that was told of them, and notices."""

from collections.abc import Sequence
from datetime import datetime

from django.db.models import Exists, OuterRef, Q

from alerts.models import Alert, Delivery, Event
from alerts.states import DeliveryState, Telling
from project.kit.pruning import Kind, unless

UNFINISHED = (DeliveryState.WAITING, DeliveryState.SENDING)


def _alert_may_go(before: datetime) -> Q:
    """Nothing of it is to be sent or waits for what was sent, it flaps no more, and what was part of it is gone."""
    waiting = Delivery.objects.filter(state__in=UNFINISHED)
    own = waiting.filter(event__alert=OuterRef("pk"))
    following = waiting.filter(after__event__alert=OuterRef("pk"))
    flapping = Event.objects.filter(alert=OuterRef("pk"), telling=Telling.FLAPPING, ended_at__isnull=True)
    parts = Alert.objects.filter(parent=OuterRef("pk"))
    return Q(resolved_at__lt=before) & unless(own, following, flapping, parts)


def _notice_may_go(before: datetime) -> Q:
    """Of an event without an alert, whether of a run or of a channel, nothing follows; its deliveries are its age."""
    without_alert = Event.objects.filter(pk=OuterRef("event"), alert__isnull=True)
    return Q(ended_at__lt=before) & Q(Exists(without_alert))


def _delete_notices(delivery_ids: Sequence[int]) -> None:
    """Delete the deliveries, and the events of which no other channel is told."""
    deliveries = Delivery.objects.filter(pk__in=delivery_ids)
    event_ids = list(deliveries.values_list("event", flat=True).distinct())
    deliveries.only("pk").delete()
    told_elsewhere = Delivery.objects.filter(event=OuterRef("pk"))
    Event.objects.filter(unless(told_elsewhere), pk__in=event_ids).only("pk").delete()


KINDS = (
    Kind("alerts", Alert, "first_at", _alert_may_go),
    Kind("notices", Delivery, "event__at", _notice_may_go, delete=_delete_notices),
)

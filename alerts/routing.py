"""Who is told what: an event is written with a delivery for each channel that wants it, in the caller's transaction;
for many alerts at once with no more statements than for one.
"""

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime

from django.db.models import F, OuterRef, Q, QuerySet, Subquery

from alerts.models import Alert, Channel, Delivery, Event, Silence
from alerts.states import DeliveryState, Severity, Telling

RANK = {severity: rank for rank, severity in enumerate(Severity.values)}
# Channels, each with the delivery that it has to have been told first, if there is one: by their numbers.
Audience = dict[int, int | None]


@dataclass(frozen=True, slots=True)
class Announcement:
    """What is told of an alert."""

    alert: Alert
    telling: Telling
    text: str


def tell_of_openings(announcements: Iterable[Announcement], now: datetime) -> None:
    """Tell each to the channels that want to know of such an alert and were not told of this one before.

    Of one that was told before and has become more severe no event is written where nobody is left to be told.
    """
    announcements = list(announcements)
    if not announcements:
        return
    channels = list(Channel.objects.filter(enabled=True))
    informed = _informed([said.alert for said in announcements if said.alert.told_at is not None])
    told, unheard = [], []
    for said in announcements:
        audience = _audience(said.alert, channels, informed[said.alert.pk])
        if audience or said.alert.told_at is None:
            told.append((said, audience))
        else:
            unheard.append(said.alert)
    _write(told, now)
    _mark([said.alert for said, _ in told], told_at=now)
    _mark(unheard)


def tell(announcement: Announcement, channels: Iterable[Channel], now: datetime) -> None:
    """Tell it to these channels."""
    _write([(announcement, {channel.pk: None for channel in channels})], now)
    _mark([announcement.alert], told_at=now)


def tell_of_recoveries(announcements: Iterable[Announcement], now: datetime) -> None:
    """Tell those channels of the recovery that were told of the opening, and no others.

    A channel that has not been told yet is told only if it will have been: the delivery waits for the earlier one.
    """
    announcements = list(announcements)
    openings = _openings([said.alert for said in announcements])
    _write([(said, openings[said.alert.pk]) for said in announcements if said.alert.pk in openings], now)


def subject_of(channel: Channel) -> str:
    """Return the text key of the channel."""
    return f"channel:{channel.pk}"


def told() -> QuerySet[Delivery]:
    """Return the deliveries that have told somebody, or still may."""
    return Delivery.objects.exclude(state__in=[DeliveryState.FAILED, DeliveryState.DROPPED])


def wants(channel: Channel, what: Alert | Event) -> bool:
    """Tell whether the channel wants to know, by kind, severity and labels."""
    if channel.kinds and what.kind not in channel.kinds:
        return False
    if RANK[what.severity] < RANK[channel.least_severity]:
        return False
    return all(what.labels.get(name) == value for name, value in channel.labels.items())


def silences_over(alerts: Iterable[Alert], now: datetime) -> dict[int, str]:
    """Return by the number of an alert the reason of the silence that covers it now, the longest one."""
    reasons = covering(now).order_by("-ends_at").values("reason")
    asked = Alert.objects.filter(pk__in=[alert.pk for alert in alerts]).order_by()
    silenced = asked.annotate(silence=Subquery(reasons[:1])).filter(silence__isnull=False)
    return dict(silenced.values_list("pk", "silence"))


def covering(now: datetime) -> QuerySet[Silence]:
    """Return the silences that cover an alert now, as a subquery of a question about alerts."""
    in_force = Silence.objects.filter(starts_at__lte=now, ends_at__gt=now)
    return in_force.filter(Q(kind="") | Q(kind=OuterRef("kind")), labels__contained_by=OuterRef("labels"))


# --- steps -----------------------------------------------------------------------------------------------------


def _informed(alerts: Sequence[Alert]) -> Mapping[int, set[int]]:
    """Return by alert the channels that were told anything of it, or still may be; none for the others."""
    informed: dict[int, set[int]] = defaultdict(set)
    if alerts:
        deliveries = told().filter(event__alert__in=[alert.pk for alert in alerts])
        for alert_id, channel_id in deliveries.order_by().values_list("event__alert", "channel"):
            informed[alert_id].add(channel_id)
    return informed


def _audience(alert: Alert, channels: Iterable[Channel], informed: set[int]) -> Audience:
    # A channel is not told of its own failures: that would feed the jam.
    others = (channel for channel in channels if subject_of(channel) != alert.subject)
    return {channel.pk: None for channel in others if channel.pk not in informed and wants(channel, alert)}


def _openings(alerts: Iterable[Alert]) -> dict[int, Audience]:
    """Return by alert the channels that were told of its opening, or still may be, each with that delivery."""
    openings: dict[int, Audience] = {}
    deliveries = told().filter(
        event__alert__in=[alert.pk for alert in alerts], event__telling__in=[Telling.OPENED, Telling.FLAPPING]
    )
    for alert_id, channel_id, delivery_id in deliveries.order_by("id").values_list("event__alert", "channel", "pk"):
        openings.setdefault(alert_id, {})[channel_id] = delivery_id
    return openings


def _write(tellings: Iterable[tuple[Announcement, Audience]], now: datetime) -> None:
    """Write the events, each with its deliveries."""
    pairs = [(_event(said, now), audience) for said, audience in tellings]
    Event.objects.bulk_create(event for event, _ in pairs)
    Delivery.objects.bulk_create(
        Delivery(event=event, channel_id=channel_id, after_id=first, due_at=now, urgency=event.urgency)
        for event, audience in pairs
        for channel_id, first in audience.items()
    )


def _event(said: Announcement, now: datetime) -> Event:
    alert = said.alert
    return Event(
        alert=alert,
        telling=said.telling,
        kind=alert.kind,
        severity=alert.severity,
        title=alert.title,
        text=said.text,
        facts=alert.facts,
        url=alert.url,
        labels=alert.labels,
        at=now,
    )


def _mark(alerts: Sequence[Alert], **columns: datetime) -> None:
    """Write on the alerts that they are told as severe as they are."""
    if not alerts:
        return
    rows = Alert.objects.filter(pk__in=[alert.pk for alert in alerts])
    rows.update(told_severity=F("severity"), untold="", **columns)
    for alert in alerts:
        alert.told_severity, alert.untold = alert.severity, ""
        alert.told_at = columns.get("told_at", alert.told_at)

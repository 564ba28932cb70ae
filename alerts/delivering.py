"""The outbox is emptied channel by channel: claim, send, settle. A channel has one sender at a time, so that its
messages keep their order and its platform's limits; a slow one holds up no other.

At most once: what went out without an answer is not sent again, unless the channel says so.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Protocol

from django.db import transaction
from django.db.models import F, Q, QuerySet

from alerts import digesting, failing, quiet
from alerts.channels.base import Verdict
from alerts.messages import Message
from alerts.models import Channel, Delivery, DeliveryTry
from alerts.states import DeliveryOutcome, DeliveryState

# How long a sender has a channel; it takes one message at a time, and each has a shorter timeout.
SENDER_LEASE = timedelta(seconds=120)
# So many deliveries at most go into one message.
BATCH = 100
RETRY_DELAYS = tuple(timedelta(seconds=seconds) for seconds in (5, 30, 120, 600, 1800, 7200, 18_000))

NOT_TOLD_BEFORE = "The channel was not told of what came before."
LOST_SENDER = "The sender was lost while the message was on its way."


class Send(Protocol):
    """Sends one message to a channel and says how that went; it never raises."""

    def __call__(self, channel: Channel, message: Message) -> tuple[Verdict, int | None]:
        """Return what the answer means, and its status if there was one."""


@dataclass(frozen=True, slots=True)
class Parcel:
    """What goes out in one message: the deliveries that it tells, and the try that records it."""

    channel: Channel
    deliveries: Sequence[Delivery]
    message: Message
    token: int
    attempt: DeliveryTry


def channels_to_serve(*, now: datetime) -> list[int]:
    """Return the channels that have something to send and no sender."""
    free = Q(channel__sending_until__isnull=True) | Q(channel__sending_until__lt=now)
    unpaused = Q(channel__not_before__isnull=True) | Q(channel__not_before__lte=now)
    waiting = Delivery.objects.filter(free, unpaused, due_at__lte=now, state__in=_UNFINISHED)
    return list(waiting.order_by("channel").values_list("channel", flat=True).distinct())


def serve(channel_id: int, *, send: Send, clock: Callable[[], datetime]) -> int:
    """Send what waits for the channel, until nothing does or its platform's limit is reached; return how many messages.

    Args:
        clock: tells the database's present instant.
    """
    channel = _take(channel_id, clock())
    if channel is None:
        return 0
    sent = 0
    try:
        while parcel := _pack(channel, clock()):
            began = clock()
            verdict, status = send(channel, parcel.message)
            _settle(parcel, verdict, status, began, clock())
            sent += 1
            if verdict.outcome != DeliveryOutcome.SENT:
                break
    finally:
        _let_go(channel)
    return sent


# --- the channel -----------------------------------------------------------------------------------------------

_UNFINISHED = [DeliveryState.WAITING, DeliveryState.SENDING]


def _take(channel_id: int, now: datetime) -> Channel | None:
    """Take the channel for this sender, and clear up what a lost one left; None: somebody else has it."""
    with transaction.atomic():
        free = Channel.objects.select_for_update(skip_locked=True).filter(
            Q(sending_until__isnull=True) | Q(sending_until__lt=now), pk=channel_id
        )
        channel = free.first()
        if channel is None:
            return None
        channel.sender_token += 1
        channel.sending_until = now + SENDER_LEASE
        channel.save(update_fields=["sender_token", "sending_until"])
        _clear_up(channel, now)
        if not channel.enabled:
            _drop(Delivery.objects.filter(channel=channel, state=DeliveryState.WAITING), "The channel is off.", now)
    return channel


def _clear_up(channel: Channel, now: datetime) -> None:
    """Judge what a lost sender had in hand: nobody knows whether it arrived."""
    lost = Delivery.objects.filter(channel=channel, state=DeliveryState.SENDING)
    if channel.retry_ambiguous:
        lost.update(state=DeliveryState.WAITING, due_at=now)
    else:
        lost.update(state=DeliveryState.UNKNOWN, outcome=DeliveryOutcome.AMBIGUOUS, meaning=LOST_SENDER, ended_at=now)
    tries = DeliveryTry.objects.filter(channel=channel, outcome="")
    tries.update(outcome=DeliveryOutcome.AMBIGUOUS, meaning=LOST_SENDER)


def _let_go(channel: Channel) -> None:
    Channel.objects.filter(pk=channel.pk, sender_token=channel.sender_token).update(sending_until=None)


# --- one message -----------------------------------------------------------------------------------------------


def _pack(channel: Channel, now: datetime) -> Parcel | None:
    """Take what goes into the next message, and record the try before it is made; None: nothing may go now."""
    with transaction.atomic():
        if not _still_ours(channel, now) or quiet.waits(channel, now) or failing.waits_for_room(channel, now):
            return None
        _drop_orphans(channel, now)
        waiting = Delivery.objects.select_for_update(skip_locked=True, of=("self",)).filter(
            channel=channel, state=DeliveryState.WAITING, due_at__lte=now
        )
        ready = waiting.filter(Q(after__isnull=True) | Q(after__state__in=_TOLD))
        found = list(ready.select_related("event__alert").order_by("id")[:BATCH])
        if not found:
            return None
        chosen, message = digesting.next_message(found, now)
        Delivery.objects.filter(pk__in=[delivery.pk for delivery in chosen]).update(
            state=DeliveryState.SENDING, token=channel.sender_token, tries=F("tries") + 1
        )
        attempt = DeliveryTry.objects.create(delivery=chosen[0], channel=channel, at=now)
    return Parcel(channel, chosen, message, channel.sender_token, attempt)


_TOLD = [DeliveryState.SENT, DeliveryState.UNKNOWN]


def _still_ours(channel: Channel, now: datetime) -> bool:
    mine = Channel.objects.filter(pk=channel.pk, sender_token=channel.sender_token, enabled=True)
    return bool(mine.update(sending_until=now + SENDER_LEASE))


def _drop_orphans(channel: Channel, now: datetime) -> None:
    """Drop the recoveries of what the channel was never told."""
    untold = Q(after__state__in=[DeliveryState.FAILED, DeliveryState.DROPPED])
    waiting = Delivery.objects.filter(untold, channel=channel, state=DeliveryState.WAITING)
    _drop(Delivery.objects.filter(pk__in=list(waiting.values_list("pk", flat=True))), NOT_TOLD_BEFORE, now)


def _settle(parcel: Parcel, verdict: Verdict, status: int | None, began: datetime, now: datetime) -> None:
    """Write how it went: guarded by the sender's token, so that a late sender undoes nothing."""
    columns = _columns_of(parcel, verdict, now)
    leader = parcel.deliveries[0]
    with transaction.atomic():
        mine = Delivery.objects.filter(
            pk__in=[delivery.pk for delivery in parcel.deliveries], state=DeliveryState.SENDING, token=parcel.token
        )
        if columns["state"] == DeliveryState.SENT:
            mine.exclude(pk=leader.pk).update(told_by=leader)
        mine.update(code=verdict.code, meaning=verdict.meaning, outcome=verdict.outcome, **columns)
        DeliveryTry.objects.filter(pk=parcel.attempt.pk, outcome="").update(
            outcome=verdict.outcome,
            status=status,
            code=verdict.code,
            meaning=verdict.meaning,
            milliseconds=max(0, round((now - began).total_seconds() * 1000)),
        )
        failing.note(parcel.channel, verdict, now)


def _columns_of(parcel: Parcel, verdict: Verdict, now: datetime) -> dict[str, object]:
    """Return where the deliveries go from here."""
    ambiguous = verdict.outcome == DeliveryOutcome.AMBIGUOUS
    again = verdict.outcome == DeliveryOutcome.RETRY or (ambiguous and parcel.channel.retry_ambiguous)
    tries = parcel.deliveries[0].tries + 1
    if again and tries <= len(RETRY_DELAYS):
        delay = max(RETRY_DELAYS[tries - 1], timedelta(seconds=verdict.retry_after or 0))
        return {"state": DeliveryState.WAITING, "due_at": now + delay}
    ends = {
        DeliveryOutcome.SENT: DeliveryState.SENT,
        DeliveryOutcome.AMBIGUOUS: DeliveryState.UNKNOWN,
    }
    return {"state": ends.get(verdict.outcome, DeliveryState.FAILED), "ended_at": now}


def _drop(deliveries: QuerySet[Delivery], why: str, now: datetime) -> None:
    deliveries.update(state=DeliveryState.DROPPED, meaning=why, ended_at=now)

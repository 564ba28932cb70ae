"""The outbox is emptied channel by channel: claim, send, settle. A channel has one sender at a time, so that its
messages keep their order and its platform's limits; a slow one holds up no other. What is most severe goes first, then
what is oldest, but never a recovery before its opening.

At most once: what went out without an answer is not sent again, unless the channel says so. While a channel fails it
is tried with one delivery alone, so that no more than that is in doubt.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Protocol

from django.db import transaction
from django.db.models import Exists, F, OuterRef, Q, QuerySet
from structlog.contextvars import bound_contextvars

from alerts import digesting, failing, quiet
from alerts.channels.base import Verdict
from alerts.messages import Message
from alerts.models import Channel, Delivery, DeliveryTry
from alerts.states import DeliveryOutcome, DeliveryState

# How long a sender has a channel; it takes one message at a time, and each has to end sooner (see sending).
SENDER_LEASE = timedelta(seconds=90)
# So long at a stretch: then the sender is free for a channel that has waited, and this one is hinted again.
TURN = timedelta(seconds=10)
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
    waiting = Delivery.objects.filter(channel=OuterRef("pk"), due_at__lte=now, state__in=_UNFINISHED)
    return list(Channel.objects.filter(_free(now), Exists(waiting)).order_by("pk").values_list("pk", flat=True))


def serve(channel_id: int, *, send: Send, clock: Callable[[], datetime]) -> int:
    """Send what waits for the channel, until nothing does, its platform's limit is reached, one fails or the sender has
    had its turn; return how many messages.

    Args:
        clock: tells the database's present instant.
    """
    began_at = clock()
    channel = _take(channel_id, began_at)
    if channel is None:
        return 0
    sent = 0
    try:
        while (now := clock()) < began_at + TURN and (parcel := _pack(channel, now)):
            verdict = _deliver(parcel, send, clock)
            sent += 1
            if verdict.outcome != DeliveryOutcome.SENT:
                break
    finally:
        _let_go(channel)
    return sent


def _deliver(parcel: Parcel, send: Send, clock: Callable[[], datetime]) -> Verdict:
    """Send the message, write how it went, and return that."""
    with bound_contextvars(channel=parcel.channel.pk, delivery=parcel.deliveries[0].pk):
        began = clock()
        verdict, status = send(parcel.channel, parcel.message)
        _settle(parcel, verdict, status, began, clock())
    return verdict


# --- the channel -----------------------------------------------------------------------------------------------

_UNFINISHED = [DeliveryState.WAITING, DeliveryState.SENDING]


def _free(now: datetime) -> Q:
    """Return what is true of a channel that has no sender and no pause."""
    unpaused = Q(not_before__isnull=True) | Q(not_before__lte=now)
    return unpaused & (Q(sending_until__isnull=True) | Q(sending_until__lt=now))


def _take(channel_id: int, now: datetime) -> Channel | None:
    """Take the channel for this sender, and clear up what a lost one left; None: it is not free."""
    with transaction.atomic():
        channel = Channel.objects.select_for_update(skip_locked=True).filter(_free(now), pk=channel_id).first()
        if channel is None:
            return None
        channel.sender_token += 1
        channel.sending_until = now + SENDER_LEASE
        channel.save(update_fields=["sender_token", "sending_until"])
        _clear_up(channel, now)
        if not channel.enabled:
            _drop(Delivery.objects.filter(channel=channel, state=DeliveryState.WAITING), "The channel is off.", now)
        _drop_orphans(channel, now)
    return channel


def _clear_up(channel: Channel, now: datetime) -> None:
    """Judge what a lost sender had in hand: nobody knows whether it arrived."""
    lost = Delivery.objects.filter(channel=channel, state=DeliveryState.SENDING)
    tries = DeliveryTry.objects.filter(delivery__in=lost, outcome="")
    tries.update(outcome=DeliveryOutcome.AMBIGUOUS, meaning=LOST_SENDER)
    if channel.retry_ambiguous:
        lost.filter(tries__lte=len(RETRY_DELAYS)).update(state=DeliveryState.WAITING, due_at=now)
    lost.update(state=DeliveryState.UNKNOWN, outcome=DeliveryOutcome.AMBIGUOUS, meaning=LOST_SENDER, ended_at=now)


def _drop_orphans(channel: Channel, now: datetime) -> None:
    """Drop the recoveries of what the channel was never told."""
    untold = Q(after__state__in=[DeliveryState.FAILED, DeliveryState.DROPPED])
    waiting = Delivery.objects.filter(untold, channel=channel, state=DeliveryState.WAITING)
    _drop(Delivery.objects.filter(pk__in=list(waiting.values_list("pk", flat=True))), NOT_TOLD_BEFORE, now)


def _drop(deliveries: QuerySet[Delivery], why: str, now: datetime) -> None:
    deliveries.update(state=DeliveryState.DROPPED, meaning=why, ended_at=now)


def _let_go(channel: Channel) -> None:
    Channel.objects.filter(pk=channel.pk, sender_token=channel.sender_token).update(sending_until=None)


# --- one message -----------------------------------------------------------------------------------------------


def _pack(channel: Channel, now: datetime) -> Parcel | None:
    """Take what goes into the next message, and record the try before it is made; None: nothing may go now."""
    with transaction.atomic():
        if not _still_ours(channel, now) or quiet.waits(channel, now) or failing.waits_for_room(channel, now):
            return None
        found = _ready(channel, now)
        if not found:
            return None
        chosen, message = digesting.next_message(found, now)
        Delivery.objects.filter(pk__in=[delivery.pk for delivery in chosen]).update(
            state=DeliveryState.SENDING, token=channel.sender_token, tries=F("tries") + 1
        )
        attempt = DeliveryTry.objects.create(delivery=chosen[0], channel=channel, at=now)
    return Parcel(channel, chosen, message, channel.sender_token, attempt)


def _ready(channel: Channel, now: datetime) -> list[Delivery]:
    """Lock and return what may go out now, the most urgent first; of a channel that fails one alone."""
    waiting = Delivery.objects.select_for_update(skip_locked=True, of=("self",)).filter(
        channel=channel, state=DeliveryState.WAITING, due_at__lte=now
    )
    ready = waiting.filter(Q(after__isnull=True) | Q(after__state__in=_TOLD)).select_related("event")
    return list(ready.order_by("-urgency", "id")[: 1 if channel.failures else BATCH])


_TOLD = [DeliveryState.SENT, DeliveryState.UNKNOWN]


def _still_ours(channel: Channel, now: datetime) -> bool:
    mine = Channel.objects.filter(pk=channel.pk, sender_token=channel.sender_token, enabled=True)
    return bool(mine.update(sending_until=now + SENDER_LEASE))


def _settle(parcel: Parcel, verdict: Verdict, status: int | None, began: datetime, now: datetime) -> None:
    """Write how it went: guarded by the sender's token, so that a late sender undoes nothing."""
    with transaction.atomic():
        mine = Delivery.objects.filter(
            pk__in=[delivery.pk for delivery in parcel.deliveries], state=DeliveryState.SENDING, token=parcel.token
        )
        if _may_go_again(parcel.channel, verdict):
            _put_back(mine, verdict, parcel.deliveries[0].tries, now)
        _end(mine, verdict, parcel.deliveries[0], now)
        DeliveryTry.objects.filter(pk=parcel.attempt.pk, outcome="").update(
            **_said(verdict), status=status, milliseconds=max(0, round((now - began).total_seconds() * 1000))
        )
        failing.note(parcel.channel, verdict, now)


def _may_go_again(channel: Channel, verdict: Verdict) -> bool:
    ambiguous = verdict.outcome == DeliveryOutcome.AMBIGUOUS
    return verdict.outcome == DeliveryOutcome.RETRY or (ambiguous and channel.retry_ambiguous)


def _put_back(deliveries: QuerySet[Delivery], verdict: Verdict, tries_before: int, now: datetime) -> None:
    """Let those wait for another try that have not had all of theirs."""
    delay = RETRY_DELAYS[min(tries_before, len(RETRY_DELAYS) - 1)]
    due_at = now + max(delay, timedelta(seconds=verdict.retry_after or 0))
    again = deliveries.filter(tries__lte=len(RETRY_DELAYS))
    again.update(state=DeliveryState.WAITING, due_at=due_at, **_said(verdict))


def _end(deliveries: QuerySet[Delivery], verdict: Verdict, leader: Delivery, now: datetime) -> None:
    """Write the end of those that do not wait for another try."""
    if verdict.outcome == DeliveryOutcome.SENT:
        deliveries.exclude(pk=leader.pk).update(told_by=leader)
    state = _ENDS.get(verdict.outcome, DeliveryState.FAILED)
    deliveries.update(state=state, ended_at=now, **_said(verdict))


_ENDS = {DeliveryOutcome.SENT: DeliveryState.SENT, DeliveryOutcome.AMBIGUOUS: DeliveryState.UNKNOWN}


def _said(verdict: Verdict) -> dict[str, str]:
    return {"outcome": verdict.outcome, "code": verdict.code, "meaning": verdict.meaning}

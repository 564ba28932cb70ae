"""The audit of the outbox: what a receiver was sent, held against what the rows say that it was told."""

from collections import defaultdict
from collections.abc import Iterable, Sequence
from datetime import datetime, timedelta
from uuid import UUID, uuid5

from alerts.delivering import LOST_SENDER
from alerts.models import Channel, Delivery, DeliveryTry
from alerts.states import DeliveryState

# What a campaign raises. The house raises its own, as that the broker is away, and may just have done so at the end.
RAISED = "x:"


def messages_of(channel: Channel, state: DeliveryState) -> dict[str, list[Delivery]]:
    """Return the deliveries of the channel that are in the state, by the id of the message that told them."""
    together: dict[tuple[str, int | None], list[Delivery]] = defaultdict(list)
    for delivery in Delivery.objects.filter(channel=channel, state=state).order_by("-urgency", "id"):
        # A sender has one message in hand when it is lost or hears nothing; of those that arrived it may send many.
        leader = delivery.told_by_id or delivery.pk if state == DeliveryState.SENT else delivery.token
        together[(state, leader)].append(delivery)
    return {id_of([delivery.event_id for delivery in told]): told for told in together.values()}


def id_of(events: Sequence[UUID]) -> str:
    """Return the id of the message that tells these events."""
    alone = len(events) == 1
    return str(events[0] if alone else uuid5(events[0], " ".join(map(str, events))))


def audit_channel(channel: Channel, taken: Sequence[str], lost_at: Sequence[datetime], patience: timedelta) -> int:
    """Assert what audit_told does, and that each message marked unknown was in the hand of a sender that was lost.
    Return how many deliveries are marked.

    Args:
        taken: the ids that the receiver took, in their order.
        lost_at: when senders were lost.
        patience: how long a sender may have had a message in its hand.
    """
    unknown = audit_told(channel, taken)
    _audit_losses(unknown.values(), lost_at, patience)
    return sum(map(len, unknown.values()))


def audit_told(channel: Channel, taken: Sequence[str]) -> dict[str, list[Delivery]]:
    """Assert that the receiver took each message once that the rows call sent, none twice, and no other but those that
    are marked unknown; that every event was told or is marked, and no recovery before its opening. Return the
    deliveries that are marked, by the id of their message.

    Args:
        taken: the ids that the receiver took, in their order.
    """
    sent, unknown = messages_of(channel, DeliveryState.SENT), messages_of(channel, DeliveryState.UNKNOWN)
    assert len(taken) == len(set(taken)), "doubled"
    assert sent.keys() <= set(taken), "called sent, and was not taken"
    assert set(taken) <= sent.keys() | unknown.keys(), "taken, and the rows do not know of it"
    raised = Delivery.objects.filter(channel=channel, event__alert__fingerprint__startswith=RAISED)
    others = raised.exclude(state__in=[DeliveryState.SENT, DeliveryState.UNKNOWN])
    assert not list(others.values("state", "meaning", "event__title")), "neither told nor marked"
    _audit_order(taken, sent)
    return unknown


def _audit_losses(unknown: Iterable[Sequence[Delivery]], lost_at: Sequence[datetime], patience: timedelta) -> None:
    for message in unknown:
        assert {delivery.meaning for delivery in message} == {LOST_SENDER}
        (attempt,) = DeliveryTry.objects.filter(delivery__in=message, meaning=LOST_SENDER)
        assert any(timedelta(0) <= lost - attempt.at <= patience for lost in lost_at), "nobody was lost then"


def _audit_order(taken: Sequence[str], sent: dict[str, list[Delivery]]) -> None:
    place = {delivery.pk: taken.index(message) for message, told in sent.items() for delivery in told}
    for delivery in Delivery.objects.filter(pk__in=place, after__isnull=False):
        assert place.get(delivery.after_id, -1) < place[delivery.pk], "a recovery before its opening"

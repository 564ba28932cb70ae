"""Which of the waiting deliveries go into the next message: one alone, or a burst of one severity as one digest."""

from collections import Counter
from collections.abc import Sequence
from datetime import datetime
from uuid import uuid5

from alerts.messages import Message
from alerts.models import Delivery, Event
from alerts.states import Severity, Telling

# With more than so many waiting at once a channel gets one digest instead.
BURST = 3
# So many lines of a digest are written out; how many more there are is said.
LINES = 30


def next_message(waiting: Sequence[Delivery], now: datetime) -> tuple[list[Delivery], Message]:
    """Return what goes out next, and its message.

    What is severe does not drown among lines of less severe things.

    Args:
        waiting: at least one delivery of one channel, the most urgent first.
    """
    first = waiting[0].event
    alike = [delivery for delivery in waiting if delivery.event.severity == first.severity]
    if len(alike) <= BURST:
        return [waiting[0]], message_of(first)
    return alike, _digest([delivery.event for delivery in alike], now)


def message_of(event: Event) -> Message:
    """Return the message that tells one event."""
    return Message(
        event_id=str(event.pk),
        telling=Telling(event.telling),
        kind=event.kind,
        severity=Severity(event.severity),
        title=event.title,
        text=event.text,
        at=event.at,
        facts=tuple((label, value) for label, value in event.facts),
        url=event.url,
        labels=event.labels,
    )


def _digest(events: Sequence[Event], now: datetime) -> Message:
    kinds = Counter(event.kind for event in events)
    what = ", ".join(f"{_in_words(kind)} ({count})" for kind, count in kinds.most_common())
    lines = [_line(event) for event in events]
    more = [f"… and {len(lines) - LINES} more"] if len(lines) > LINES else []
    return Message(
        # By what it tells: a receiver that drops the second of an id must not drop what only the second tells.
        event_id=str(uuid5(events[0].pk, " ".join(str(event.pk) for event in events))),
        telling=Telling.DIGEST,
        kind=kinds.most_common(1)[0][0],
        severity=Severity(events[0].severity),
        title=f"{len(events)} messages: {what}",
        text="\n".join(lines[:LINES] + more),
        at=now,
    )


def _line(event: Event) -> str:
    """Return what a digest says of one event; that it is a notice says nothing of what happened."""
    telling = Telling(event.telling)
    return f"{_in_words(event.kind) if telling == Telling.NOTICE else telling.label}: {event.title}"


def _in_words(kind: str) -> str:
    return kind.replace("_", " ")

"""A test message to one channel, sent at once. Network I/O: never within a transaction."""

from datetime import datetime

from django.db import transaction
from django.utils.translation import gettext as _

from alerts import failing
from alerts.channels.base import Verdict
from alerts.digesting import message_of
from alerts.models import Channel, Delivery, DeliveryTry, Event
from alerts.sending import send
from alerts.states import DeliveryOutcome, DeliveryState, Severity, Telling
from project.kit.clock import database_now, elapsed

TITLE = "This is a test"
TEXT = (
    "Somebody tries whether messages arrive here; nothing is wrong.\n"
    "That you read this proves that the channel's address is right, and its signature where one is checked, and that"
    " its receiver takes messages.\n"
    "It does not prove that any alert is sent here: the channel's kinds, severity and labels choose those, and silences"
    " and quiet hours hold them back."
)

_STATES = {
    DeliveryOutcome.SENT: DeliveryState.SENT,
    DeliveryOutcome.AMBIGUOUS: DeliveryState.UNKNOWN,
}


def send_test(channel: Channel, *, now: datetime) -> Verdict:
    """Send a test message to the channel, on or off, record how that went, and return it. It is not tried again."""
    event = Event(telling=Telling.TEST, kind="test", severity=Severity.INFO, title=TITLE, text=TEXT, at=now)
    began = elapsed()
    verdict, status = send(channel, message_of(event))
    _record(event, channel, verdict, status, milliseconds=round((elapsed() - began) * 1000))
    return verdict


def in_words(verdict: Verdict) -> str:
    """Return what came of a test, as sentences for the person who asked for it."""
    match verdict.outcome:
        case DeliveryOutcome.SENT:
            said = _("The test message was taken. Look there whether it can be read.")
        case DeliveryOutcome.AMBIGUOUS:
            said = _("Nobody knows whether the test message arrived. Look there.")
        case _failed:
            said = _("The test message was not taken, and a test is not tried again.")
    return f"{said} {verdict.meaning}".rstrip()


def _record(event: Event, channel: Channel, verdict: Verdict, status: int | None, *, milliseconds: int) -> None:
    """Write the test among the channel's deliveries, where its limits count it too."""
    said = {"outcome": verdict.outcome, "code": verdict.code, "meaning": verdict.meaning}
    ended_at = database_now()
    with transaction.atomic():
        event.save(force_insert=True)
        delivery = Delivery.objects.create(
            event=event,
            channel=channel,
            state=_STATES.get(verdict.outcome, DeliveryState.FAILED),
            due_at=event.at,
            tries=1,
            ended_at=ended_at,
            **said,
        )
        DeliveryTry.objects.create(
            delivery=delivery, channel=channel, at=event.at, status=status, milliseconds=milliseconds, **said
        )
        failing.note(channel, verdict, ended_at)

"""How a channel is doing: its platform's limits, its failures in a row, and the alert that the others are told."""

from datetime import datetime, timedelta

from django.db.models import F

from alerts import recording
from alerts.channels.base import Verdict
from alerts.channels.registry import rates_of
from alerts.models import Channel, DeliveryTry
from alerts.recording import Problem
from alerts.routing import subject_of
from alerts.states import DeliveryOutcome, Severity

# So many failures in a row are a problem of its own.
FAILURES_UNTIL_TOLD = 3
# How long a channel is left alone after so many failures in a row, by their number; the last one for ever.
PAUSES = tuple(timedelta(seconds=seconds) for seconds in (0, 5, 15, 60, 300))


def waits_for_room(channel: Channel, now: datetime) -> bool:
    """Tell whether the platform's limit is reached, and note on the channel until when it waits."""
    pauses = [_pause(channel, count, seconds, now) for count, seconds in rates_of(channel)]
    until = max((pause for pause in pauses if pause is not None), default=None)
    if until is not None:
        Channel.objects.filter(pk=channel.pk).update(not_before=until)
    return until is not None


def note(channel: Channel, verdict: Verdict, now: datetime) -> None:
    """Note on the channel how a message went; after several failures in a row the other channels are told."""
    if verdict.outcome == DeliveryOutcome.SENT:
        _note_success(channel, now)
    else:
        _note_failure(channel, verdict, now)


def _note_success(channel: Channel, now: datetime) -> None:
    channel.failures = 0
    Channel.objects.filter(pk=channel.pk).update(failures=0, last_sent_at=now, last_error="", not_before=None)
    recording.resolve_alert(_fingerprint(channel), now=now, sentence="A message was taken again.")


def _note_failure(channel: Channel, verdict: Verdict, now: datetime) -> None:
    mine = Channel.objects.filter(pk=channel.pk)
    mine.update(failures=F("failures") + 1, last_error=verdict.meaning)
    failures = mine.values_list("failures", flat=True).get()
    pause = max(PAUSES[min(failures, len(PAUSES)) - 1], timedelta(seconds=verdict.retry_after or 0))
    mine.update(not_before=now + pause)
    if failures >= FAILURES_UNTIL_TOLD:
        recording.raise_alert(_problem(channel, verdict), now=now)


def _problem(channel: Channel, verdict: Verdict) -> Problem:
    return Problem(
        kind="delivery_failing",
        fingerprint=_fingerprint(channel),
        title=f"Channel {channel.name}",
        sentence=f"Its messages fail. {verdict.meaning}",
        subject=subject_of(channel),
        severity=Severity.CRITICAL,
    )


def _fingerprint(channel: Channel) -> str:
    return f"delivery_failing:{channel.pk}"


def _pause(channel: Channel, count: int, seconds: float, now: datetime) -> datetime | None:
    """Return until when a limit of so many messages in so many seconds leaves no room; None: there is room."""
    span = timedelta(seconds=seconds)
    tries = DeliveryTry.objects.filter(channel=channel, at__gt=now - span).order_by("-at")
    instants = list(tries.values_list("at", flat=True)[:count])
    return instants[-1] + span if len(instants) >= count else None

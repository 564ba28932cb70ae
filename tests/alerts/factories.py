"""Channels and problems, and a sender that says what it is told to say."""

import itertools
from collections.abc import Callable
from datetime import datetime, timedelta
from typing import Any

from alerts.channels.base import Verdict
from alerts.messages import Message
from alerts.models import Channel, Delivery, Event, Silence
from alerts.recording import Problem
from alerts.states import DeliveryOutcome, Severity
from project.kit.secrets import Secret
from tests.scheduler.factories import NOW

_numbers = itertools.count(1)

SENT = Verdict(DeliveryOutcome.SENT, "200", "Taken.")
RETRY = Verdict(DeliveryOutcome.RETRY, "503", "Not taken; it is tried again.")
PERMANENT = Verdict(DeliveryOutcome.PERMANENT, "400", "Refused.")
AMBIGUOUS = Verdict(DeliveryOutcome.AMBIGUOUS, "", "Nobody knows.")


def make_channel(**fields: Any) -> Channel:
    """Insert a channel to a webhook that is told of everything."""
    values: dict[str, Any] = {
        "name": f"channel {next(_numbers)}",
        "format": "generic",
        "least_severity": Severity.INFO,
        "created_at": NOW,
        "updated_at": NOW,
    }
    channel = Channel(**values | fields)
    channel.address = Secret.of(fields.get("address", "https://hooks.example.org/token"))
    channel.save(force_insert=True)
    return channel


def problem(fingerprint: str = "run_failed:run:1", **fields: Any) -> Problem:
    """Return a problem, by default of a run that failed."""
    values: dict[str, Any] = {
        "kind": "run_failed",
        "title": "#1 nightly 2026-06-01",
        "sentence": "It failed.",
        "subject": "run:1",
        "labels": {"name": "nightly"},
    }
    return Problem(fingerprint=fingerprint, **values | fields)


def make_silence(**fields: Any) -> Silence:
    """Insert a silence over everything, from a minute before now to a minute after."""
    minute = timedelta(minutes=1)
    values = {"starts_at": NOW - minute, "ends_at": NOW + minute, "reason": "Works on the line."}
    return Silence.objects.create(**values | fields)


def tellings() -> list[str]:
    """Return what the events tell, in their order."""
    return list(Event.objects.order_by("at", "telling").values_list("telling", flat=True))


def told_to(channel: Channel) -> list[str]:
    """Return what the channel is told, in the order of its writing."""
    return list(Delivery.objects.filter(channel=channel).order_by("id").values_list("event__telling", flat=True))


class Sender:
    """Sends nothing, keeps what it was given, and answers with the verdicts in turn, the last one for ever."""

    def __init__(self, *verdicts: Verdict, during: Callable[[], object] = lambda: None) -> None:
        self._verdicts = list(verdicts) or [SENT]
        self._during = during
        self.messages: list[tuple[str, Message]] = []

    def __call__(self, channel: Channel, message: Message) -> tuple[Verdict, int | None]:
        self.messages.append((channel.name, message))
        self._during()
        verdict = self._verdicts.pop(0) if len(self._verdicts) > 1 else self._verdicts[0]
        return verdict, 200

    @property
    def told(self) -> list[tuple[str, str]]:
        """What was told, as pairs of the telling and the title."""
        return [(message.telling, message.title) for _, message in self.messages]


class Clock:
    """A clock that stands until it is moved."""

    def __init__(self, now: datetime = NOW) -> None:
        self.now = now

    def __call__(self) -> datetime:
        return self.now

    def pass_by(self, **span: float) -> None:
        self.now += timedelta(**span)


def states() -> list[str]:
    """Return the states of all deliveries, in the order of their writing."""
    return list(Delivery.objects.order_by("id").values_list("state", flat=True))

"""`manage.py send_test_alert`: tries whether messages arrive at a channel."""

from argparse import ArgumentParser
from datetime import datetime
from typing import Any

from django.core.management.base import CommandError

from alerts.models import Channel
from alerts.states import DeliveryOutcome
from alerts.testing import in_words, send_test
from project.kit import commands
from project.kit.commands import Status, Told


class Command(commands.Verb):
    """Send a test message to a channel, and say what came of it."""

    help = "Send a test message to a channel at once, and say what came of it."

    def add_arguments(self, parser: ArgumentParser) -> None:
        """Declare the channel."""
        super().add_arguments(parser)
        parser.add_argument("channel", metavar="CHANNEL", help="name of the channel, or its number")

    def act(self, options: dict[str, Any], now: datetime) -> Told:
        """Send it, and tell the outcome in words."""
        channel = _find(options["channel"])
        verdict = send_test(channel, now=now)
        values = {
            "channel": channel.name,
            "outcome": verdict.outcome,
            "code": verdict.code,
            "meaning": verdict.meaning,
        }
        status = Status.DONE if verdict.outcome == DeliveryOutcome.SENT else Status.NOT_WELL
        return Told([in_words(verdict)], values, status)


def _find(text: str) -> Channel:
    """Return the channel of the name, or else of the number."""
    channel = Channel.objects.filter(name=text).first()
    if channel is None and text.isdecimal():
        channel = Channel.objects.filter(pk=int(text)).first()
    if channel is None:
        names = ", ".join(f"“{name}”" for name in Channel.objects.values_list("name", flat=True)[:10])
        known = f"There are {names}." if names else "There is none yet: add one in the control panel."
        raise CommandError(f"There is no channel “{text}”. {known}")
    return channel

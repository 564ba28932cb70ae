"""Fills and serves the outbox of channels for the tests of delivering."""

from alerts import delivering
from alerts.models import Channel
from alerts.recording import raise_alert
from tests.alerts.factories import Clock, Sender, problem


def serve(channel: Channel, send: Sender, clock: Clock) -> int:
    """Let a sender serve the channel once; return how many deliveries it saw to."""
    return delivering.serve(channel.pk, send=send, clock=clock)


def raise_several(count: int, clock: Clock) -> None:
    """Raise so many alerts, run 0 first."""
    for number in range(count):
        raise_alert(problem(f"run_failed:run:{number}", title=f"run {number}"), now=clock())

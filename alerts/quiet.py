"""Quiet hours of a channel: what comes in them waits for their end, and is one digest then."""

from datetime import datetime
from zoneinfo import ZoneInfo

from alerts.models import Channel, Delivery
from alerts.states import DeliveryState
from project.kit.wall_clocks import quiet_until


def waits(channel: Channel, now: datetime) -> bool:
    """Put off what waits for the channel to the end of its quiet hours; tell whether it is quiet now."""
    if channel.quiet_from is None or channel.quiet_until is None:
        return False
    end = quiet_until(channel.quiet_from, channel.quiet_until, ZoneInfo(channel.timezone), now)
    if end is None:
        return False
    waiting = Delivery.objects.filter(channel=channel, state=DeliveryState.WAITING, due_at__lt=end)
    waiting.update(due_at=end)
    return True

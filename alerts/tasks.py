"""The doors through which Celery comes in: three lines that call a domain function."""

from celery import current_app, shared_task

from alerts import delivering, repeating
from alerts.sending import send
from project.kit.clock import database_now

QUEUE = "alerts"
# With so many hints waiting all senders are busy, and more hints would only be the same again.
MOST_WAITING = 50


@shared_task(name="alerts.deliver_due")
def deliver_due() -> None:
    """Send a hint for each channel that has something to send."""
    with current_app.producer_or_acquire() as producer:
        if producer.channel.client.llen(QUEUE) < MOST_WAITING:
            for channel_id in delivering.channels_to_serve(now=database_now()):
                serve.apply_async([channel_id], queue=QUEUE, producer=producer)


@shared_task(name="alerts.serve")
def serve(channel_id: int) -> None:
    """Send what waits for the channel."""
    delivering.serve(channel_id, send=send, clock=database_now)


def serve_due() -> None:
    """Send what waits for any channel, here and without hints."""
    for channel_id in delivering.channels_to_serve(now=database_now()):
        delivering.serve(channel_id, send=send, clock=database_now)


@shared_task(name="alerts.repeat")
def repeat() -> None:
    """Tell open alerts again, untold ones once nothing speaks against that, and flapping ones once they are calm."""
    repeating.repeat_open(now=database_now())
    repeating.tell_untold(now=database_now())
    repeating.end_flapping(now=database_now())

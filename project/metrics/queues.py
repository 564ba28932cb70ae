"""What waits in the broker."""

from collections.abc import Iterator

from redis import Redis

from project.celery_settings import broker_transport_options, task_queues
from project.metrics.definitions import Figure, gauge

LENGTH = gauge("tideline_queue_length", "Messages that wait in a queue of the broker.", "queue")
UNACKNOWLEDGED = gauge(
    "tideline_queue_unacknowledged", "Messages that a worker has taken, of all queues, and not acknowledged yet."
)
METRICS = (LENGTH, UNACKNOWLEDGED)


def figures(redis: Redis) -> Iterator[Figure]:
    """Yield the figures, with one round trip.

    Raises:
        redis.RedisError: it is away.
    """
    prefix, names = broker_transport_options["global_keyprefix"], [queue.name for queue in task_queues]
    with redis.pipeline(transaction=False) as pipeline:
        for name in names:
            pipeline.llen(f"{prefix}{name}")
        pipeline.hlen(f"{prefix}unacked")
        *lengths, unacknowledged = pipeline.execute()
    yield from (LENGTH.at(length, name) for name, length in zip(names, lengths, strict=True))
    yield UNACKNOWLEDGED.at(unacknowledged)

"""What waits in the broker, and who listens to it."""

from collections.abc import Iterator

from redis import Redis
from redis.exceptions import ResponseError

from project.celery_settings import broker_transport_options, task_queues
from project.metrics.definitions import Figure, gauge

LENGTH = gauge("tideline_queue_length", "Messages that wait in a queue of the broker.", "queue")
UNACKNOWLEDGED = gauge(
    "tideline_queue_unacknowledged", "Messages that a worker has taken, of all queues, and not acknowledged yet."
)
LISTENERS = gauge(
    "tideline_celery_listeners",
    "Processes that the broker reaches at once: each worker, runner, notifier, poller and Flower; absent where Redis"
    " does not tell who is connected.",
)
METRICS = (LENGTH, UNACKNOWLEDGED, LISTENERS)


def figures(redis: Redis) -> Iterator[Figure]:
    """Yield the figures, with two round trips.

    Raises:
        redis.RedisError: it is away.
    """
    yield from _lengths(redis)
    yield from _listeners(redis)


def _lengths(redis: Redis) -> Iterator[Figure]:
    prefix, names = broker_transport_options["global_keyprefix"], [queue.name for queue in task_queues]
    with redis.pipeline(transaction=False) as pipeline:
        for name in names:
            pipeline.llen(f"{prefix}{name}")
        pipeline.hlen(f"{prefix}unacked")
        *lengths, unacknowledged = pipeline.execute()
    yield from (LENGTH.at(length, name) for name, length in zip(names, lengths, strict=True))
    yield UNACKNOWLEDGED.at(unacknowledged)


def _listeners(redis: Redis) -> Iterator[Figure]:
    """Count those that wait for Celery's remote control or its events, which idle workers do as well.

    Workers could be asked themselves, but they answer within seconds, and a web request does not talk to the broker.
    """
    try:
        clients = redis.client_list(_type="pubsub")
    except ResponseError:  # whoever runs it has forbidden the question
        return
    yield LISTENERS.at(sum(client["name"] == broker_transport_options["client_name"] for client in clients))

"""Puts the parts together for one scrape."""

import logging
from collections.abc import Iterable, Iterator
from datetime import datetime
from itertools import chain

from redis import RedisError

from project.kit.clock import database_now
from project.metrics import alerts, polling, queues, quotas, runs, scans, schedules, workers
from project.metrics.definitions import Family, Figure, Metric, gauge
from scheduler.polling.connecting import hasty_client

logger = logging.getLogger(__name__)

REDIS_UP = gauge("tideline_redis_up", "Whether Redis could be asked (1) or not (0): then its figures are absent.")

IN_ROWS = (schedules, runs, quotas, alerts, scans)
# Each metric once, in the order in which they are written.
METRICS: tuple[Metric, ...] = (
    *dict.fromkeys(chain.from_iterable(part.METRICS for part in (*IN_ROWS, queues, polling, workers))),
    REDIS_UP,
)


class Scrape:
    """What the library asks for the metrics of one scrape."""

    def collect(self) -> Iterable[Family]:
        """Return all metrics with their figures; those of Redis have none while it is away.

        Raises:
            DatabaseError: the database is away.
        """
        now = database_now()
        families = {metric: metric.family() for metric in METRICS}
        for figure in (*_of_rows(now), *_of_redis(now)):
            families[figure.metric].add_metric(figure.labels, figure.value)
        return families.values()


def _of_rows(now: datetime) -> Iterator[Figure]:
    return chain.from_iterable(part.figures(now) for part in IN_ROWS)


def _of_redis(now: datetime) -> list[Figure]:
    redis = hasty_client()
    try:
        return [*queues.figures(redis), *polling.figures(redis, now), *workers.figures(redis), REDIS_UP.at(1)]
    except RedisError as error:
        logger.warning("the metrics know nothing of Redis: %s", type(error).__name__)
        return [REDIS_UP.at(0)]

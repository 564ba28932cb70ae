"""Beat's scheduler: django-celery-beat's, which keeps ticking from memory while the database is away, and makes no pile
of scans while no worker is there.
"""

import logging
from datetime import timedelta
from typing import Any

from celery.beat import ScheduleEntry
from celery.schedules import maybe_schedule, schedule
from django.db import DatabaseError, InterfaceError, connection
from django_celery_beat.models import IntervalSchedule
from django_celery_beat.schedulers import DatabaseScheduler, ModelEntry

logger = logging.getLogger(__name__)

QUEUE = "scans"
# With so many scans waiting nobody is at work: more of them would find nothing more to do, and fill the broker. They
# are counted, and not given a time after which they expire: that would be compared with the worker's clock.
MOST_WAITING = 100


class ExactEntry(ModelEntry):
    """A row that holds its interval as it is.

    The original writes it in seconds without their fraction (django-celery-beat 2.9): half a second becomes none, and
    beat then sends that scan without a pause and the others hardly ever.
    """

    @classmethod
    def to_model_schedule(cls, given: Any) -> tuple[Any, str]:
        """Return the row of the interval, and the name of the column that leads to it."""
        interval = maybe_schedule(given)
        if not isinstance(interval, schedule) or not interval.run_every % timedelta(seconds=1):
            found: tuple[Any, str] = super().to_model_schedule(given)
            return found
        row, _ = IntervalSchedule.objects.get_or_create(
            every=interval.run_every // timedelta(microseconds=1), period=IntervalSchedule.MICROSECONDS
        )
        return row, "interval"


class SteadyScheduler(DatabaseScheduler):
    """Holds the fixed rows of project/beat.py.

    The original ends beat when the database is away while the rows are read again (every change and every five
    minutes, django-celery-beat 2.9); this one goes on with the rows that it has.
    """

    Entry = ExactEntry
    _piled_up = False

    def apply_async(self, entry: ScheduleEntry, producer: Any = None, advance: bool = True, **options: Any) -> Any:
        """Send the scan, unless enough of them wait."""
        piled_up = producer.channel.client.llen(QUEUE) >= MOST_WAITING
        if piled_up and not self._piled_up:
            logger.warning("%d scans wait and no worker takes them: no more are sent until one does", MOST_WAITING)
        self._piled_up = piled_up
        return None if piled_up else super().apply_async(entry, producer, advance, **options)

    def all_as_schedule(self) -> dict[str, Any]:
        """Return the enabled rows as entries; those known already while the database is away."""
        try:
            entries: dict[str, Any] = super().all_as_schedule()
        except (DatabaseError, InterfaceError):
            if self._schedule is None:
                raise
            connection.close()
            logger.warning("the database is away: beat goes on with the scans it knows")
            known: dict[str, Any] = self._schedule
            return known
        return entries

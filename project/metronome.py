"""Beat's scheduler: django-celery-beat's, which keeps ticking from memory while the database is away."""

import logging
from typing import Any

from django.db import DatabaseError, InterfaceError, connection
from django_celery_beat.schedulers import DatabaseScheduler

logger = logging.getLogger(__name__)


class SteadyScheduler(DatabaseScheduler):
    """Holds the fixed rows of project/beat.py.

    The original ends beat when the database is away while the rows are read again (every change and every five
    minutes, django-celery-beat 2.9); this one goes on with the rows that it has.
    """

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

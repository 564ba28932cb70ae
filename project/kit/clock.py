"""The one clock: the database's. Only edges (tasks, commands, views) ask it; domain functions take `now`."""

from datetime import datetime

from django.db import connection


def database_now() -> datetime:
    """Return the database's present instant in UTC, even inside a transaction that began long ago."""
    with connection.cursor() as cursor:
        cursor.execute("SELECT clock_timestamp()")
        (now,) = cursor.fetchone()
    instant: datetime = now
    return instant

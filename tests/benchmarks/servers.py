"""Servers of the benchmarks' own, as durable as the try-out's, shared by us and the peers; and Django on them.

`DATABASE_URL` and `REDIS_URL` are not heeded: the benchmarks empty what they find.
"""

import os
import shutil
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from urllib.parse import urlsplit

import psycopg
import redis

from project.services import Services

CACHE = Path(__file__).resolve().parents[2] / ".cache" / "benchmarks"
OUR_DATABASE, PEERS_DATABASE = "tideline", "peer"


@contextmanager
def running_servers() -> Iterator[None]:
    """Start the servers, migrate our database and set Django up; stop and remove the servers at the end."""
    CACHE.mkdir(parents=True, exist_ok=True)
    folder = Path(tempfile.mkdtemp(prefix="servers-", dir=CACHE))
    services = Services(folder, {}, durable=True)
    try:
        os.environ |= services.start() | _surroundings(folder)
        _set_up_django()
        yield
    finally:
        services.stop()
        shutil.rmtree(folder, ignore_errors=True)


def peers_database() -> str:
    """Return the URL of a fresh, empty database for a peer, on the same server as ours."""
    ours = os.environ["DATABASE_URL"]
    with psycopg.connect(ours, autocommit=True) as connection:
        connection.execute(f"DROP DATABASE IF EXISTS {PEERS_DATABASE} WITH (FORCE)")
        connection.execute(f"CREATE DATABASE {PEERS_DATABASE}")
    return urlsplit(ours)._replace(path=f"/{PEERS_DATABASE}").geturl()


def empty_broker() -> None:
    """Forget all messages."""
    broker().flushall()


def broker() -> redis.Redis:
    """Return a client of the broker."""
    return redis.Redis.from_url(os.environ["REDIS_URL"])


def empty_tables() -> None:
    """Empty our tables and take them as new: no dead rows, fresh statistics."""
    from django.db import connection

    with connection.cursor() as cursor:
        cursor.execute("TRUNCATE scheduler_schedule, scheduler_fire, scheduler_taskrun, project_scanmark CASCADE")
    refresh_statistics()


def refresh_statistics() -> None:
    """Do what autovacuum would have done after a minute, and write the dirty pages out."""
    from django.db import connection

    with connection.cursor() as cursor:
        cursor.execute("VACUUM ANALYZE")
        cursor.execute("CHECKPOINT")


def _surroundings(folder: Path) -> dict[str, str]:
    return {
        "ALLOWED_HOSTS": "localhost",
        "DJANGO_SETTINGS_MODULE": "project.settings",
        "SECRET_KEY": "only-for-benchmarks",
        "TIDELINE_JOBS": "tests.benchmarks.jobs",
        "TIDELINE_PLAIN_HTTP": "1",
        "TIDELINE_STATE_DIR": str(folder),  # a try-out in the same checkout has no say here
    }


def _set_up_django() -> None:
    import django
    from django.core.management import call_command

    django.setup()
    call_command("migrate", verbosity=0, interactive=False)

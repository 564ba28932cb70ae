"""Looks whether all is well, and says what to do where it is not. Each part is looked at for itself: what is away
keeps the others from nothing that can be known without it.
"""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from celery.app import app_or_default
from django.conf import settings
from django.core import checks
from django.db import Error as DatabaseTrouble
from django.db import connection
from redis import RedisError

from project import health
from project.kit.findings import Finding, Level, or_well, trouble, warning, well
from scheduler.polling import examining

# Those that are tested.
POSTGRESQL_OLDEST, POSTGRESQL_NEWEST = 14, 18
REDIS_OLDEST = (6, 2)
FULL_PERCENT = 90
WORKERS_SECONDS = 2.0
# Of these nothing is known while the database is away.
IN_THE_DATABASE = frozenset({"migrations", "scans"})
# The queues that every installation has, and what reads them.
READERS = {"scans": "worker", "runs": "runner", "alerts": "notifier"}

# What the checks say of a control panel that is served without encryption, which the try-out is, on loopback alone.
OF_PLAIN_HTTP = frozenset({"security.W004", "security.W008", "security.W012", "security.W016"})
MEBIBYTE = 1024 * 1024


def examine() -> Iterator[Finding]:
    """Yield what is found, part by part."""
    ready = health.parts(health.CHECKS)
    has_database = bool(ready["database"]["ok"])
    yield from (_readiness(name, part) for name, part in ready.items() if has_database or name not in IN_THE_DATABASE)
    if has_database:
        yield _postgresql(_version_of_postgresql())
    if ready["redis"]["ok"]:
        yield from _with_redis(polled=has_database and bool(ready["migrations"]["ok"]))
    yield from _settings()


def _readiness(name: str, part: Mapping[str, str | bool]) -> Finding:
    level = Level.WELL if part["ok"] else Level.TROUBLE
    return Finding(name, level, str(part["says"]), "" if part["ok"] else _REMEDIES[name])


_REMEDIES = {
    "database": "Start PostgreSQL, or correct DATABASE_URL.",
    "redis": "Start Redis, or correct REDIS_URL.",
    "scans": "Start beat and a worker: see the Procfile.",
    "migrations": "Run: manage.py migrate",
}


def _version_of_postgresql() -> int:
    with connection.cursor() as cursor:
        cursor.execute("SELECT current_setting('server_version_num')::integer / 10000")
        (version,) = cursor.fetchone()
    return int(version)


def _postgresql(version: int) -> Finding:
    if version < POSTGRESQL_OLDEST:
        return trouble(
            "PostgreSQL", f"It is version {version}.", f"Update it to {POSTGRESQL_OLDEST} to {POSTGRESQL_NEWEST}."
        )
    if version > POSTGRESQL_NEWEST:
        return warning(
            "PostgreSQL",
            f"It is version {version}, with which nobody has tried Tideline.",
            f"Versions {POSTGRESQL_OLDEST} to {POSTGRESQL_NEWEST} are tried.",
        )
    return well("PostgreSQL", f"It is version {version}.")


# --- Redis, and what it knows ----------------------------------------------------------------------------------


def _with_redis(*, polled: bool) -> Iterator[Finding]:
    """Yield what is found of Redis, of the workers, and of the polling if its rows can be read."""
    try:
        with health.redis_client() as redis:
            yield from _server(redis.info())
            yield from _workers()
            if polled:
                yield from examining.examine(redis)
    except (RedisError, DatabaseTrouble, OSError) as error:
        yield trouble("doctor", f"It could not look at everything ({type(error).__name__}).", "Ask it once more.")


def _server(info: Mapping[str, Any]) -> Iterator[Finding]:
    name, version = _version(info)
    if tuple(map(int, version.split(".")[:2])) < REDIS_OLDEST:
        yield trouble(name, f"It is version {version}.", "Update it to 6.2 or newer.")
    else:
        yield well(name, f"It is version {version}.")
    yield _eviction(name, info)
    yield _memory(name, info)


def _version(info: Mapping[str, Any]) -> tuple[str, str]:
    if "valkey_version" in info:
        return "Valkey", info["valkey_version"]
    return "Redis", info["redis_version"]


def _eviction(name: str, info: Mapping[str, Any]) -> Finding:
    policy, limit = info["maxmemory_policy"], info["maxmemory"]
    if policy == "noeviction":
        return well(name, "It drops no keys when its memory is full (noeviction).")
    says = f"It drops keys when its memory is full ({policy})"
    remedy = "Set maxmemory-policy to noeviction: what is dropped is messages, limits and live orders."
    if limit:
        return trouble(name, f"{says}, at {limit // MEBIBYTE:,} MiB.", remedy)
    return warning(name, f"{says}; it has no limit yet.", remedy)


def _memory(name: str, info: Mapping[str, Any]) -> Finding:
    used, limit = info["used_memory"], info["maxmemory"]
    says = f"It uses {used // MEBIBYTE:,} MiB" + (f" of {limit // MEBIBYTE:,} MiB." if limit else ".")
    if limit and used * 100 >= limit * FULL_PERCENT:
        return warning(name, says, "Give it more memory: when it is full, it refuses what is written.")
    return well(name, says)


def _workers() -> Iterator[Finding]:
    """Yield for each queue of Celery whether a worker reads it. Workers are asked; one that is asleep says nothing."""
    said = app_or_default().control.inspect(timeout=WORKERS_SECONDS).active_queues() or {}
    read = [queue["name"] for queues in said.values() for queue in queues]
    for queue, process in READERS.items():
        if count := read.count(queue):
            yield well("workers", f"{count} {'reads' if count == 1 else 'read'} the queue {queue}.")
        else:
            yield trouble(
                "workers", f"Nobody reads the queue {queue}.", f"Start the process {process} of the Procfile."
            )


# --- settings --------------------------------------------------------------------------------------------------


def _settings() -> Iterator[Finding]:
    """Yield what the system checks say, those for production included."""
    said = [message for message in checks.run_checks(include_deployment_checks=True) if not message.is_silenced()]
    yield from or_well(_of_checks(said), "settings", "The system checks have nothing to say.")


def _of_checks(said: Sequence[checks.CheckMessage]) -> Iterator[Finding]:
    if settings.PLAIN_HTTP:
        said = [message for message in said if message.id not in OF_PLAIN_HTTP]
        yield warning("settings", "The control panel is served without encryption.", "Set TIDELINE_PLAIN_HTTP to 0.")
    for message in said:
        level = Level.TROUBLE if message.is_serious() else Level.WARNING
        yield Finding("settings", level, f"{message.msg} ({message.id})", message.hint or "")

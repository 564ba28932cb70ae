"""Is it alive, and is it ready: the two addresses that a supervisor asks, and the sentences behind them."""

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from datetime import datetime, timedelta

import redis
from django.conf import settings
from django.db import DatabaseError, connection
from django.db.migrations.executor import MigrationExecutor
from django.http import HttpRequest, HttpResponse, JsonResponse
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_safe
from django_celery_beat.models import PeriodicTask

from project.beat import SCANS, Scan
from project.kit import redis_urls
from project.kit.clock import database_now
from project.models import ScanMark

REDIS_SECONDS = 1.0
# A scan that was not done for so many of its intervals, and at least so long, is missing.
MISSING_AFTER_INTERVALS = 5
MISSING_AFTER = timedelta(seconds=15)


@dataclass(frozen=True, slots=True)
class ScanState:
    """A periodic scan and when it last ran; None: never.

    Attributes:
        recent: it was done lately, or beat has known of it for so short a time that it need not have been.
    """

    name: str
    scan: Scan
    mark: ScanMark | None
    recent: bool


class NotReady(Exception):
    """A part is not ready; the message says what is wrong with it."""


@never_cache
@require_safe
def healthz(request: HttpRequest) -> HttpResponse:
    """Say that this process answers; it asks nobody else."""
    return HttpResponse("ok", content_type="text/plain")


@never_cache
@require_safe
def readyz(request: HttpRequest) -> JsonResponse:
    """Say for each part whether it is ready; 503 if one is not. `?part=` names those that matter to who asks."""
    found = parts(request.GET.getlist("part") or CHECKS)
    ready = all(part["ok"] for part in found.values())
    return JsonResponse({"ready": ready, "parts": found}, status=200 if ready else 503)


def parts(names: Iterable[str]) -> dict[str, dict[str, str | bool]]:
    """Return of each of these parts whether it is ready (`ok`), and a sentence about it (`says`)."""
    return {name: _answer(CHECKS.get(name, _check_nothing)) for name in names}


def scan_states(now: datetime) -> list[ScanState]:
    """Return each periodic scan with its mark, in the order of beat's table."""
    marks = ScanMark.objects.in_bulk(SCANS)
    # those that were never done are awaited from the instant at which beat wrote their rows
    awaited_since = dict(PeriodicTask.objects.filter(name__in=SCANS).values_list("name", "date_changed"))
    since = {name: marks[name].last_at if name in marks else awaited_since.get(name) for name in SCANS}
    return [_scan_state(name, scan, marks.get(name), since[name], now) for name, scan in SCANS.items()]


def _scan_state(name: str, scan: Scan, mark: ScanMark | None, since: datetime | None, now: datetime) -> ScanState:
    patience = max(MISSING_AFTER, MISSING_AFTER_INTERVALS * scan.every)
    return ScanState(name, scan, mark, recent=since is not None and now - since <= patience)


def _answer(check: Callable[[], str]) -> dict[str, str | bool]:
    """Return what the check says. Errors are named by their class alone: their texts may hold addresses."""
    try:
        return {"ok": True, "says": check()}
    except NotReady as error:
        return {"ok": False, "says": str(error)}
    except (DatabaseError, redis.RedisError) as error:
        return {"ok": False, "says": f"It cannot be reached ({type(error).__name__})."}


def _check_database() -> str:
    return f"It answers; its clock says {database_now():%Y-%m-%d %H:%M:%S} UTC."


def _check_migrations() -> str:
    executor = MigrationExecutor(connection)
    missing = executor.migration_plan(executor.loader.graph.leaf_nodes())
    if missing:
        raise NotReady(f"{len(missing)} migrations are not applied. Run: manage.py migrate")
    return "All are applied."


def _check_redis() -> str:
    with redis_client() as client:
        client.ping()
    return "It answers."


def redis_client() -> redis.Redis:
    """Return a client that gives up soon; whoever asks for it closes it."""
    return redis_urls.client(
        settings.REDIS_URL, socket_connect_timeout=REDIS_SECONDS, socket_timeout=REDIS_SECONDS, retry=None
    )


def _check_scans() -> str:
    missing = [state.name for state in scan_states(database_now()) if not state.recent]
    if missing:
        raise NotReady(f"Not done lately: {', '.join(missing)}. Are a worker and beat running?")
    return "All were done lately."


def _check_nothing() -> str:
    raise NotReady(f"There is no such part. Ask for {', '.join(CHECKS)}.")


CHECKS: dict[str, Callable[[], str]] = {
    "database": _check_database,
    "migrations": _check_migrations,
    "redis": _check_redis,
    "scans": _check_scans,
}

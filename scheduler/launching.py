"""Due runs are leased and a hint goes out for each. The lease is short: a hint that never arrives is replaced when
it ends. One of the doors to Celery.

The broker holds few hints (TIDELINE_QUEUE_LIMIT); the backlog stays in the rows, where priority still counts.
"""

import json
import logging
import sys
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta

from django.conf import settings
from django.db import connection
from kombu.exceptions import KombuError
from kombu.messaging import Producer
from redis.exceptions import RedisError

from scheduler import hints, pausing, quiet_hours, running, shortness
from scheduler.jobs.registry import short_jobs
from scheduler.transitions import Claim

logger = logging.getLogger(__name__)

RUN_TASK = "scheduler.run"
QUEUE = "runs"
# A hint that has left the queue and whose run has not begun after this long is lost.
LAUNCH_LEASE = timedelta(seconds=15)
# A key that is in the broker since the first hint, unless the broker was emptied.
NOT_EMPTIED = "not-emptied"
# Runs of a short job share a hint: the broker costs more than they do.
SHORT_RUNS_A_HINT = 25
# From so many due runs on it pays to ask which jobs are short without saying so; fewer are spread over the workers.
MANY_RUNS = 100


@dataclass(frozen=True, slots=True)
class Launched:
    """What one scan did: how many runs were leased and hinted, or why none could be."""

    runs: int = 0
    hints: int = 0
    error: str = ""

    def __add__(self, other: "Launched") -> "Launched":
        return Launched(self.runs + other.runs, self.hints + other.hints, self.error or other.error)


@dataclass(frozen=True, slots=True)
class _Leased:
    claim: Claim
    job: str
    needs_quota: bool
    has_quiet_hours: bool


def launch_due(*, now: datetime, limit: int | None = None) -> Launched:
    """Lease due runs, the most urgent first, and send hints for them, as many as the broker may hold.

    A run waits while an older run of its exclusive key has not ended, is put off in its schedule's quiet hours, and is
    paused while its quota refuses it.
    If the broker cannot be reached the rows stay due, nothing is lost, and the result says so.

    Args:
        limit: so many runs at most; None: as many as there is room for hints, of which several short runs share one.
    """
    try:
        with hints.reached_broker() as producer:
            return _fill(producer, _room(producer), limit, now)
    except (KombuError, RedisError, OSError) as error:
        return _unreachable(error)


def _fill(producer: Producer, room: int, limit: int | None, now: datetime) -> Launched:
    """Launch as many runs as there is room for hints; and more while short ones share them, up to half of the room."""
    launched = Launched()
    lost_before = _lost_before(producer, now) if room > 0 else now
    while not launched.error:
        wanted = min(room - launched.hints, sys.maxsize if limit is None else limit - launched.runs)
        leased = _lease_due(now, lost_before, wanted) if wanted > 0 else []
        launched += _send(producer, _without_refused(_without_quiet(leased, now), now), now)
        if len(leased) < max(wanted, 1) or launched.hints > room / 2:
            break
        lost_before = min(lost_before, now)  # what was launched just now is not lost
    return launched


# --- rows ------------------------------------------------------------------------------------------------------


def _lease_due(now: datetime, lost_before: datetime, limit: int) -> list[_Leased]:
    with connection.cursor() as cursor:
        cursor.execute(
            "WITH due AS ("
            " SELECT run.id, run.priority, run.due_at FROM scheduler_taskrun AS run"
            " WHERE run.due_at <= %s AND (run.lease_expires_at IS NULL OR run.lease_expires_at < %s)"
            " AND (run.exclusive_key IS NULL OR NOT EXISTS ("
            "  SELECT FROM scheduler_taskrun AS older WHERE older.exclusive_key = run.exclusive_key"
            "  AND older.finished_at IS NULL AND older.id < run.id))"
            " ORDER BY run.priority DESC, run.due_at, run.id LIMIT %s FOR UPDATE OF run SKIP LOCKED"
            "), leased AS ("
            " UPDATE scheduler_taskrun AS run"
            " SET lease_token = run.lease_token + 1, lease_owner = '', lease_expires_at = %s"
            " FROM due WHERE run.id = due.id"
            " RETURNING run.id, run.lease_token, run.job, run.quota_id, run.schedule_id, due.priority, due.due_at)"
            " SELECT id, lease_token, job, quota_id IS NOT NULL,"
            "  (SELECT quiet_from FROM scheduler_schedule WHERE id = leased.schedule_id) IS NOT NULL"
            " FROM leased ORDER BY priority DESC, due_at, id",
            [now, lost_before, limit, now + LAUNCH_LEASE],
        )
        return [_Leased(Claim(run_id, token), *what) for run_id, token, *what in cursor.fetchall()]


def _without_quiet(leased: Sequence[_Leased], now: datetime) -> list[_Leased]:
    with_quiet_hours = [item.claim for item in leased if item.has_quiet_hours]
    quiet = quiet_hours.put_off(with_quiet_hours, now=now) if with_quiet_hours else set()
    return [item for item in leased if item.claim.run_id not in quiet]


def _without_refused(leased: Sequence[_Leased], now: datetime) -> list[_Leased]:
    needing = [item.claim for item in leased if item.needs_quota]
    held_back = pausing.hold_back(needing, now=now) if needing else set()
    return [item for item in leased if item.claim.run_id not in held_back]


# --- hints -----------------------------------------------------------------------------------------------------


def _send(producer: Producer, leased: Sequence[_Leased], now: datetime) -> Launched:
    grouped = list(_grouped(leased))
    try:
        with producer.batch():
            for hint in grouped:
                _publish(producer, hint, now)
    except (KombuError, RedisError, OSError) as error:
        running.give_back([item.claim for item in leased])
        return _unreachable(error)
    return Launched(runs=len(leased), hints=len(grouped))


def _publish(producer: Producer, hint: Sequence[Claim], now: datetime) -> None:
    hints.publish(
        producer,
        RUN_TASK,
        [[[claim.run_id, claim.token] for claim in hint]],
        queue=QUEUE,
        shown=" ".join(f"#{claim.run_id}" for claim in hint),
        launched_at=now.isoformat(),
    )


def _grouped(leased: Sequence[_Leased]) -> Iterator[list[Claim]]:
    """Group the runs into hints: one each, but several short runs together, in the order of their urgency."""
    short = shortness.short_ones({item.job for item in leased}) if len(leased) >= MANY_RUNS else short_jobs()
    together: list[Claim] = []
    for item in leased:
        if item.job not in short:
            yield [item.claim]
            continue
        together.append(item.claim)
        if len(together) == SHORT_RUNS_A_HINT:
            yield together
            together = []
    if together:
        yield together


def _room(producer: Producer) -> int:
    waiting: int = producer.channel.client.llen(QUEUE)
    return settings.TIDELINE_QUEUE_LIMIT - waiting


def _lost_before(producer: Producer, now: datetime) -> datetime:
    """Return the instant before which an ended launch lease means a lost hint.

    The queue is first in, first out: a hint older than the oldest one waiting has left it. Younger ones only wait
    behind long jobs, and are not sent again. Where the broker was emptied, all hints are lost.
    """
    broker = producer.channel.client
    if broker.set(NOT_EMPTIED, now.isoformat(), nx=True):
        return now + 2 * LAUNCH_LEASE
    oldest = broker.lindex(producer.channel.global_keyprefix + QUEUE, -1)  # kombu does not prefix LINDEX
    if oldest is None:
        return now
    launched_at = json.loads(oldest)["headers"].get("launched_at")
    return min(now, datetime.fromisoformat(launched_at) + LAUNCH_LEASE) if launched_at else now


def _unreachable(error: Exception) -> Launched:
    logger.warning("broker unreachable, due runs stay due: %s", type(error).__name__)
    return Launched(error=f"Broker unreachable ({type(error).__name__}): due runs stay due until it is back.")

"""Which jobs are short: they say so themselves, or their latest runs show it."""

from collections.abc import Collection

from django.db import connection

from scheduler.jobs.registry import short_jobs

# Of the runs that ended last, so many are looked at; a job needs so many among them to be judged by.
LOOKED_AT = 200
ENOUGH = 20
# All but one of twenty attempts took no longer than this.
SHORT_SECONDS = 0.1


def short_ones(jobs: Collection[str]) -> frozenset[str]:
    """Return which of the jobs are short, so that several of their runs may share a hint.

    One that proves long all the same keeps nobody waiting for long: a hint ends after executing.HINT_SECONDS, and a
    run that waits behind one which hangs is launched again when its launch lease ends.
    """
    said = short_jobs().intersection(jobs)
    unsaid = set(jobs) - said
    return said | _proven_short(unsaid) if unsaid else said


def _proven_short(jobs: Collection[str]) -> set[str]:
    with connection.cursor() as cursor:
        cursor.execute(
            "SELECT run.job FROM (SELECT id, job FROM scheduler_taskrun WHERE finished_at IS NOT NULL"
            "  ORDER BY finished_at DESC LIMIT %s) AS run"
            " JOIN scheduler_attempt AS attempt ON attempt.run_id = run.id"
            " WHERE run.job = ANY(%s) AND attempt.finished_at IS NOT NULL"
            " GROUP BY run.job HAVING count(*) >= %s AND percentile_disc(0.95) WITHIN GROUP"
            "  (ORDER BY attempt.finished_at - attempt.started_at) <= make_interval(secs => %s)",
            [LOOKED_AT, list(jobs), ENOUGH, SHORT_SECONDS],
        )
        return {job for (job,) in cursor.fetchall()}

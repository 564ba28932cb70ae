"""The safety nets of resuming: delays that have passed, providers that have to be tried, and the fallback poll, which
finds whatever the events missed.
"""

from collections.abc import Callable
from datetime import datetime, timedelta

from django.conf import settings
from django.db import transaction

from quotas import observing, scans
from quotas.books import open_books_of_all
from quotas.models import Quota
from quotas.states import Cause, Verdict
from scheduler import resuming
from scheduler.models import Attempt, Pause, QuotaWait, TaskRun
from scheduler.resuming import Resumption
from scheduler.states import EventTrigger, RunState
from scheduler.waits import run_of

# A trial that has been running for so long without being refused has found out that the provider answers.
TRIAL_PASSED = timedelta(seconds=30)


def resume_by_events(*, now: datetime) -> int:
    """Take the edges, the delays that have passed and the providers to be tried; return how many runs were resumed.

    With TIDELINE_QUOTA_EVENTS off it does nothing, and the fallback poll alone resumes.
    """
    if not settings.TIDELINE_QUOTA_EVENTS:
        return 0
    return resuming.take_edges(now=now) + resume_after_delays(now=now) + try_providers(now=now)


def resume_after_delays(*, now: datetime) -> int:
    """Resume the runs whose delay or quiet hours have passed, as far as their quotas allow it; return how many."""
    passed = Pause.objects.filter(not_before__lte=now, held="", run__state=RunState.PAUSED)
    run_ids = list(passed.values_list("pk", flat=True))
    if not run_ids:
        return 0
    quota_ids = set(QuotaWait.objects.filter(run__in=run_ids).values_list("quota", flat=True))
    resumption = Resumption(EventTrigger.FALLBACK_POLL, "The delay has passed and the quota allows it.")
    resumed = sum(resuming.resume(quota_id, resumption, now=now) for quota_id in sorted(quota_ids))
    # Those that did not fit wait for their quotas like everybody else.
    resuming.end_delays(run_ids, now=now)
    return resumed


def poll(*, clock: Callable[[], datetime]) -> int:
    """Look at the quotas whose fallback check is due: ask their provider, judge them anew, and resume what waits
    though its quota is sufficient; return how many runs were resumed.

    Args:
        clock: tells the database's present instant; asking a provider takes time.
    """
    resumed = sum(_poll(quota_id, clock) for quota_id in scans.claim_checks(now=clock()))
    return resumed + resume_after_delays(now=clock()) + _resume_unwatched(clock())


def _poll(quota_id: int, clock: Callable[[], datetime]) -> int:
    if Quota.objects.filter(pk=quota_id).exclude(probe_url="").exists():
        observing.probe(quota_id, clock=clock)
    quota = scans.evaluate(quota_id, now=clock(), checked=True)
    if quota.provider_unverified:
        return _try(quota, EventTrigger.FALLBACK_POLL, clock())
    resumption = Resumption(EventTrigger.FALLBACK_POLL, f"The fallback poll found the quota “{quota.key}” back.")
    return resuming.resume(quota_id, resumption, now=clock())


def _resume_unwatched(now: datetime) -> int:
    """Resume what waits for quotas that have enough and so are not looked at: it had to wait for something else, as an
    older run of its key, or the quota that is short is another one.
    """
    free = QuotaWait.objects.filter(run__state=RunState.PAUSED, run__pause__held="", run__pause__not_before=None)
    unwatched = free.filter(quota__next_check_at=None, quota__verdict=Verdict.SUFFICIENT)
    resumption = Resumption(EventTrigger.FALLBACK_POLL, "Nothing stands in its way any more.")
    quota_ids = unwatched.order_by("quota").values_list("quota", flat=True).distinct()
    return sum(resuming.resume(quota_id, resumption, now=now) for quota_id in list(quota_ids))


# --- trials ----------------------------------------------------------------------------------------------------


def try_providers(*, now: datetime) -> int:
    """Let one run try each provider that refused and whose reset has passed; return how many were sent."""
    unverified = Quota.objects.filter(provider_unverified=True).order_by("pk")
    return sum(_try(quota, EventTrigger.QUOTA_EDGE, now) for quota in unverified)


def _try(quota: Quota, trigger: EventTrigger, now: datetime) -> int:
    """Send one run to try the provider, unless one is at it, or was a moment ago."""
    trial = TaskRun.objects.filter(pk=run_of(quota.trial_owner)).first() if quota.trial_owner else None
    if trial is not None and _has_got_through(trial, now):
        _verify(quota, now)
        return 0
    if trial is not None and trial.state in (RunState.RESUMING, RunState.RUNNING):
        return 0
    if quota.trial_until is not None and now < quota.trial_until:
        return 0
    reason = f"The provider of “{quota.key}” should answer again: this run tries."
    return resuming.resume(quota.pk, Resumption(trigger, reason, trial=True), now=now)


def _has_got_through(trial: TaskRun, now: datetime) -> bool:
    """Tell whether the run that was sent is done, or at it for a while without being refused."""
    if trial.state != RunState.RUNNING:
        return trial.state == RunState.DONE
    latest = Attempt.objects.filter(run=trial, number=trial.attempt_count)
    return latest.filter(started_at__lte=now - TRIAL_PASSED).exists()


def _verify(quota: Quota, now: datetime) -> None:
    """Note that the provider answers, unless it refused, or another run was sent, meanwhile."""
    with transaction.atomic():
        books = open_books_of_all([quota.pk], now)
        locked = books.quotas[quota.pk]
        if locked.trial_owner == quota.trial_owner:
            locked.provider_unverified, locked.trial_owner, locked.trial_until = False, "", None
            locked.blocked_count = 0
        books.save(Cause.PROVIDER)

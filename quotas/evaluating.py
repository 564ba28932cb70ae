"""Sufficient or not, with hysteresis: judged in one place, under the quota's lock, whatever made it change.

Used up: insufficient. Sufficient again only above the resume threshold and for the stable time. Only that rising edge
is written down, and in the transaction that made it. A quota in shadow mode blocks nobody, so it is always sufficient.
"""

import zlib
from datetime import datetime, timedelta

from django.dispatch import Signal

from quotas import attention, availability
from quotas.models import Edge, Quota
from quotas.states import DECIDED, EXPECTED, Cause, Kind, Verdict

# Sent with `edge` in the transaction that wrote it.
edge_written = Signal()

# What trickles in may make a quota sufficient so often within an hour; more is told, and waits.
MOST_EDGES_AN_HOUR = 12
HOUR = timedelta(hours=1)
# How much of its interval the fallback poll varies, so that many quotas are not looked at together.
POLL_JITTER = 0.1


def judge(quota: Quota, cause: Cause, now: datetime) -> Edge | None:
    """Judge the locked quota as it stands, and return the edge if it just rose; the caller writes the row back.

    Args:
        cause: what made it change.
    """
    left = availability.available(quota, now)
    risen_by: Cause | None = None
    if not quota.shadow and (left == 0 or quota.provider_unverified):
        _become(quota, Verdict.INSUFFICIENT, now)
    elif quota.verdict == Verdict.INSUFFICIENT:
        risen_by = _rise(quota, left, cause, now)
    edge = _edge(quota, left, risen_by or cause, now) if risen_by or _meets_need(quota, now) else None
    _note_level(quota, cause, now)
    quota.quiet_below = _quiet_below(quota)
    quota.evaluate_at = _next_change(quota, now)
    quota.next_check_at = _sooner_check(quota, now)
    return edge


def note_waiting(quota: Quota, smallest: int | None, since: datetime | None) -> None:
    """Note on the locked quota the smallest need that waits for it, and since when the oldest waits.

    Where the verdict is sufficient and only this need is not there, its coming writes an edge as well.
    """
    quota.waited_for, quota.waited_since, quota.waited_met = smallest, since, False


def bars_newcomers(quota: Quota, now: datetime) -> bool:
    """Tell whether what is left of the quota is kept for those who wait: work that is only due now waits with them.

    So it is while it is insufficient, and while a bigger need has waited for longer than the quota's patience. What
    is left of a period is never kept for a need that only the reset can meet; and in shadow mode nothing is.
    """
    if quota.shadow:
        return False
    if quota.verdict == Verdict.INSUFFICIENT:
        return True
    if quota.waited_since is None or quota.kind == Kind.PERIODIC:
        return False
    return now >= quota.waited_since + timedelta(seconds=quota.patience_seconds)


def forget_what_passed(quota: Quota, now: datetime) -> bool:
    """Forget what the provider said of a window that has ended; tell whether there was such.

    Its reset is a hint: where it refused, or had nothing left, somebody has to try before the crowd is let in.
    """
    unblocked = quota.blocked_until is not None and now >= quota.blocked_until
    if unblocked:
        quota.blocked_until, quota.provider_remaining, quota.provider_unverified = None, None, True
    ends = availability.word_ends(quota)
    over = ends is not None and now >= ends
    if over:
        spent = quota.spent_total - quota.provider_spent_at_observation
        if quota.provider_remaining is not None and quota.provider_remaining <= spent:
            quota.provider_unverified = True
        quota.provider_remaining, quota.provider_resets_at = None, None
    return unblocked or over


# --- the verdict -----------------------------------------------------------------------------------------------


def _become(quota: Quota, verdict: Verdict, now: datetime) -> None:
    quota.above_since, quota.above_cause = None, ""
    if quota.verdict != verdict:
        quota.verdict, quota.verdict_at = verdict, now


def _rise(quota: Quota, left: int | None, cause: Cause, now: datetime) -> Cause | None:
    """Let the quota become sufficient if it is above the threshold for long enough; return what began that."""
    if not quota.shadow and left is not None and left <= availability.bar(quota):
        quota.above_since, quota.above_cause = None, ""
        return None
    if quota.above_since is None or cause in DECIDED:
        quota.above_since, quota.above_cause = quota.above_since or now, cause
    if now < _rises_at(quota, quota.above_since) or _flaps(quota, now):
        return None
    cause = Cause(quota.above_cause)
    _become(quota, Verdict.SUFFICIENT, now)
    return cause


def _rises_at(quota: Quota, above_since: datetime) -> datetime:
    """Return when the quota is sufficient if it stays above the threshold."""
    if quota.above_cause in DECIDED:
        return above_since + timedelta(seconds=quota.stable_after_reset_seconds)
    stable = above_since + timedelta(seconds=quota.stable_seconds)
    if quota.calm_until is None or quota.above_cause in EXPECTED:
        return stable
    return max(stable, quota.calm_until)


def _meets_need(quota: Quota, now: datetime) -> bool:
    """Tell whether what is waited for has just come to be there, of a quota that is sufficient otherwise."""
    if quota.verdict == Verdict.INSUFFICIENT or quota.waited_for is None or quota.waited_met:
        return False
    return availability.fits(quota, quota.waited_for, now)


def _edge(quota: Quota, left: int | None, cause: Cause, now: datetime) -> Edge:
    quota.waited_met = availability.fits(quota, quota.waited_for or 0, now)
    edge = Edge.objects.create(quota_id=quota.pk, cause=cause, available=left, at=now)
    edge_written.send(sender=Edge, edge=edge)
    return edge


def _flaps(quota: Quota, now: datetime) -> bool:
    """Tell whether the quota came back too often lately; it is told once, and what trickles in waits for an hour."""
    if quota.above_cause in EXPECTED:
        return False
    edges = Edge.objects.filter(quota=quota.pk, at__gt=now - HOUR).count()
    if edges < MOST_EDGES_AN_HOUR:
        return False
    attention.tell_of_flapping(quota, edges, now)
    quota.calm_until = now + HOUR
    return True


# --- what people are told ----------------------------------------------------------------------------------------


def _note_level(quota: Quota, cause: Cause, now: datetime) -> None:
    """Tell each warning once, and anew after what a person or the clock decides."""
    level = _level(quota)
    if level > quota.warned_percent:
        attention.tell_of_level(quota, level, now)
        quota.warned_percent = level
    elif cause in DECIDED:
        quota.warned_percent = level


def _level(quota: Quota) -> int:
    """Return the highest warning that the use has reached, 0 for none. Of a rate it says nothing: it is often empty."""
    if not quota.limit or quota.kind == Kind.RATE:
        return 0
    reached = (percent for percent in attention.WARNING_PERCENTS if quota.used * 100 >= quota.limit * percent)
    return max(reached, default=0)


def _quiet_below(quota: Quota) -> int | None:
    if quota.limit is None:
        return None
    if quota.kind == Kind.RATE:
        return quota.limit
    ahead = (percent for percent in attention.WARNING_PERCENTS if percent > quota.warned_percent)
    return min((-(-quota.limit * percent // 100) for percent in ahead), default=quota.limit)


# --- when to look again ------------------------------------------------------------------------------------------


def _next_change(quota: Quota, now: datetime) -> datetime | None:
    """Return when the quota may rise by itself; None: never, or nothing waits for that."""
    insufficient = quota.verdict == Verdict.INSUFFICIENT
    if not insufficient and (quota.waited_for is None or quota.waited_met):
        return None
    instants = [quota.blocked_until, availability.word_ends(quota)]
    if quota.kind == Kind.PERIODIC:
        instants.append(quota.period_end)
    if quota.above_since is not None:
        instants.append(_rises_at(quota, quota.above_since))
    elif quota.kind == Kind.RATE and quota.limit:
        wanted = availability.bar(quota) + 1 if insufficient else quota.waited_for or 1
        instants.append(availability.refills_at(quota, min(wanted, quota.limit)))
    return min((instant for instant in instants if instant is not None and instant > now), default=None)


def _sooner_check(quota: Quota, now: datetime) -> datetime | None:
    """Return when the fallback poll looks next. A look that was planned for sooner stays, also one that is due, so that
    a busy quota does not put it off for ever.
    """
    planned = next_check(quota, now)
    if planned is None or quota.next_check_at is None:
        return planned
    return min(planned, quota.next_check_at)


def next_check(quota: Quota, now: datetime) -> datetime | None:
    """Return when the fallback poll looks at the quota, planned anew; None: never, nobody waits for it."""
    if quota.verdict == Verdict.SUFFICIENT and quota.waited_for is None and not quota.probe_url:
        return None
    return now + timedelta(seconds=_poll_interval(quota, now))


def _poll_interval(quota: Quota, now: datetime) -> float:
    """Return the seconds to the next look: a tenth of the time to the next change, so often near it and seldom far from
    it; within the quota's bounds, and with a jitter of the quota's own, so that many are not looked at together.
    """
    floor, ceiling = quota.poll_floor_seconds, max(quota.poll_floor_seconds, quota.poll_ceiling_seconds)
    until_change = (quota.evaluate_at - now).total_seconds() if quota.evaluate_at else 10.0 * ceiling
    seconds = min(max(until_change / 10, floor), ceiling)
    if floor <= until_change < 2 * seconds:
        seconds = until_change
    share = zlib.crc32(str(quota.pk).encode()) / 2**32
    return seconds * (1 + POLL_JITTER * share)

"""Sufficient or not, with hysteresis: judged in one place, under the quota's lock, whatever made it change.

Used up, or less than somebody waits for: insufficient. Sufficient again only above the resume threshold and for the
stable time. Only that rising edge is written down, and in the transaction that made it.
"""

import zlib
from datetime import datetime, timedelta

from django.dispatch import Signal

from quotas import attention, availability
from quotas.models import Edge, Quota
from quotas.states import DECIDED, Cause, Kind, Verdict

# Sent with `edge` in the transaction that wrote it.
edge_written = Signal()

# What trickles in may turn a quota sufficient so often within an hour; more is told, and waits.
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
    if left == 0 or quota.provider_unverified:
        _become(quota, Verdict.INSUFFICIENT, now)
    elif quota.verdict == Verdict.INSUFFICIENT:
        risen_by = _rise(quota, left, cause, now)
    edge = _edge(quota, left, risen_by or cause, now) if risen_by or _meets_need(quota, left) else None
    _note_level(quota, cause, now)
    quota.quiet_below = _quiet_below(quota)
    quota.evaluate_at = _next_change(quota, now)
    quota.next_check_at = next_check(quota, now)
    return edge


def note_waiting(quota: Quota, smallest: int | None, since: datetime | None) -> None:
    """Note on the locked quota the smallest need that waits for it, and since when the oldest waits.

    Where the verdict is sufficient and only this need is not there, its coming writes an edge as well.
    """
    quota.waited_for, quota.waited_since, quota.waited_met = smallest, since, False


def bars_newcomers(quota: Quota, now: datetime) -> bool:
    """Tell whether what is left of the quota is kept for those who wait: work that is only due now waits with them.

    So it is while it is insufficient, and while a bigger need has waited for longer than the quota's patience. What
    is left of a period is never kept for a need that only the reset can meet.
    """
    if quota.verdict == Verdict.INSUFFICIENT:
        return True
    if quota.waited_since is None or quota.kind == Kind.PERIODIC:
        return False
    return now >= quota.waited_since + timedelta(seconds=quota.patience_seconds)


def forget_what_passed(quota: Quota, now: datetime) -> None:
    """Forget what the provider said of a window that has ended. Its reset is a hint: where it refused, somebody has to
    try before the crowd is let in.
    """
    if quota.blocked_until is not None and now >= quota.blocked_until:
        quota.blocked_until, quota.provider_unverified = None, True
        quota.provider_remaining = None
    if quota.provider_resets_at is not None and now >= quota.provider_resets_at:
        if quota.provider_remaining == 0:
            quota.provider_unverified = True
        quota.provider_remaining, quota.provider_resets_at = None, None


# --- the verdict -----------------------------------------------------------------------------------------------


def _become(quota: Quota, verdict: Verdict, now: datetime) -> None:
    quota.above_since, quota.above_cause = None, ""
    if quota.verdict != verdict:
        quota.verdict, quota.verdict_at = verdict, now


def _rise(quota: Quota, left: int | None, cause: Cause, now: datetime) -> Cause | None:
    """Let the quota become sufficient if it is above the threshold for long enough; return what began that."""
    if left is not None and left <= availability.bar(quota):
        quota.above_since, quota.above_cause = None, ""
        return None
    if quota.above_since is None or cause in DECIDED:
        quota.above_since, quota.above_cause = quota.above_since or now, cause
    if now < quota.above_since + _stable_time(quota) or _flaps(quota, now):
        return None
    cause = Cause(quota.above_cause)
    _become(quota, Verdict.SUFFICIENT, now)
    return cause


def _meets_need(quota: Quota, left: int | None) -> bool:
    """Tell whether what is waited for has just come to be there, of a quota that is sufficient otherwise."""
    if quota.verdict == Verdict.INSUFFICIENT or quota.waited_for is None or quota.waited_met:
        return False
    return left is None or left >= quota.waited_for


def _edge(quota: Quota, left: int | None, cause: Cause, now: datetime) -> Edge:
    quota.waited_met = left is None or (quota.waited_for or 0) <= left
    edge = Edge.objects.create(quota_id=quota.pk, cause=cause, available=left, at=now)
    edge_written.send(sender=Edge, edge=edge)
    return edge


def _stable_time(quota: Quota) -> timedelta:
    decided = quota.above_cause in DECIDED
    return timedelta(seconds=quota.stable_after_reset_seconds if decided else quota.stable_seconds)


def _flaps(quota: Quota, now: datetime) -> bool:
    """Tell whether the quota came back too often lately; what a person or the clock decides is always let through."""
    if quota.above_cause in DECIDED:
        return False
    edges = Edge.objects.filter(quota=quota.pk, at__gt=now - HOUR).count()
    if edges < MOST_EDGES_AN_HOUR:
        return False
    attention.tell_of_flapping(quota, edges, now)
    # Told once: it is looked at again when the hour has passed.
    quota.above_since = now + HOUR - _stable_time(quota)
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
    if quota.verdict == Verdict.SUFFICIENT and (quota.waited_for is None or quota.waited_met):
        return None
    instants = [quota.blocked_until, quota.provider_resets_at]
    if quota.kind == Kind.PERIODIC:
        instants.append(quota.period_end)
    if quota.above_since is not None:
        instants.append(quota.above_since + _stable_time(quota))
    elif quota.kind == Kind.RATE and quota.limit:
        wanted = max(availability.bar(quota) + 1, quota.waited_for or 1)
        instants.append(availability.refills_at(quota, min(wanted, quota.limit)))
    return min((instant for instant in instants if instant is not None and instant > now), default=None)


def next_check(quota: Quota, now: datetime) -> datetime | None:
    """Return when the fallback poll looks at the quota; None: never, nobody waits for it.

    A look that is planned for sooner stays, so that a busy quota does not put it off for ever.
    """
    if quota.verdict == Verdict.SUFFICIENT and quota.waited_for is None and not quota.probe_url:
        return None
    planned = now + timedelta(seconds=_poll_interval(quota, now))
    if quota.next_check_at is not None and now < quota.next_check_at < planned:
        return quota.next_check_at
    return planned


def _poll_interval(quota: Quota, now: datetime) -> float:
    """Return the seconds to the next look: a tenth of the time to the next change, so often near it and seldom far from
    it; within the quota's bounds, and with jitter, so that many quotas are not looked at together.
    """
    floor, ceiling = quota.poll_floor_seconds, max(quota.poll_floor_seconds, quota.poll_ceiling_seconds)
    until_change = (quota.evaluate_at - now).total_seconds() if quota.evaluate_at else 10.0 * ceiling
    seconds = min(max(until_change / 10, floor), ceiling)
    if floor <= until_change < 2 * seconds:
        seconds = until_change
    share = zlib.crc32(f"{quota.pk}:{now.isoformat()}".encode()) / 2**32
    return seconds * (1 + POLL_JITTER * share)

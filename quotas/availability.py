"""What a quota has left: one function for all kinds, which charges, the admin, the API and the forecast all read.

Pure functions of a quota's row and an instant: nothing depends on a scan having run at the reset.
"""

from dataclasses import dataclass
from datetime import datetime, timedelta

from quotas.models import Quota
from quotas.states import Kind, WaitReason

MICROSECOND = timedelta(microseconds=1)


def available(quota: Quota, now: datetime) -> int | None:
    """Return limit - used - live reservations, and never less than 0; None: unlimited.

    Where the provider has said that less is left, that counts. A debt, from a limit that was lowered below what is
    used, shows as 0 and is kept.
    """
    figures = [figure for figure in (_by_own_limit(quota, now), _by_provider(quota, now)) if figure is not None]
    return max(0, min(figures)) if figures else None


def used_at(quota: Quota, now: datetime) -> int:
    """Return what counts as used at the instant: nothing of an earlier period, nothing that has refilled."""
    if quota.kind == Kind.PERIODIC and quota.period_end is not None and now >= quota.period_end:
        return 0
    if quota.kind == Kind.RATE:
        return max(0, quota.used - refilled(quota, now).units)
    return quota.used


@dataclass(frozen=True, slots=True)
class Refill:
    """Whole units that came back, and the instant up to which they are counted: a remainder counts later."""

    units: int
    until: datetime


def refilled(quota: Quota, now: datetime) -> Refill:
    """Return what a rate's tokens have come to since they were last counted; a clock set back gives none."""
    if quota.refill_amount is None or quota.refill_seconds is None or quota.refilled_at is None:
        raise ValueError(f"The quota “{quota.key}” is no rate.")
    span = quota.refill_seconds * 1_000_000
    elapsed = max(0, (now - quota.refilled_at) // MICROSECOND)
    units = elapsed * quota.refill_amount // span
    # Rounded up, so that many small refills never come to more than one big one.
    return Refill(units, quota.refilled_at - -units * span // quota.refill_amount * MICROSECOND)


def fits(quota: Quota, amount: int, now: datetime) -> bool:
    """Tell whether the amount can be had of the quota itself; in shadow mode everything can."""
    left = available(quota, now)
    return quota.shadow or left is None or left >= amount


def why(quota: Quota, amount: int, now: datetime) -> WaitReason:
    """Return what whoever was refused the amount waits for."""
    if is_blocked(quota, now):
        return WaitReason.UNKNOWN_RESET if quota.blocked_without_reset else WaitReason.PROVIDER_WINDOW
    theirs = _by_provider(quota, now)
    if theirs is not None and theirs < amount:
        return WaitReason.PROVIDER_WINDOW
    return WaitReason.RATE if quota.kind == Kind.RATE else WaitReason.OWN_BUDGET


def expected_at(quota: Quota, amount: int, now: datetime) -> datetime | None:
    """Return when the amount may fit again by what is known now; None: when a person does something, or unknown."""
    instants = []
    if (theirs := _by_provider(quota, now)) is not None and theirs < amount:
        instants.append(quota.blocked_until if is_blocked(quota, now) else word_ends(quota))
    if (own := _by_own_limit(quota, now)) is not None and own < amount:
        instants.append(_comes_back(quota, amount, now))
    if not instants:  # it is there, and kept until the verdict rises
        return quota.evaluate_at
    known = [instant for instant in instants if instant is not None]
    return max(known) if len(known) == len(instants) else None


def refills_at(quota: Quota, amount: int) -> datetime:
    """Return the first instant at which a rate has the amount, if nobody takes any before."""
    if quota.refill_amount is None or quota.refill_seconds is None or quota.refilled_at is None:
        raise ValueError(f"The quota “{quota.key}” is no rate.")
    missing = max(0, quota.used + quota.reserved + amount - (quota.limit or 0))
    return quota.refilled_at - -missing * quota.refill_seconds * 1_000_000 // quota.refill_amount * MICROSECOND


def is_blocked(quota: Quota, now: datetime) -> bool:
    """Tell whether the provider refuses for the present."""
    return quota.blocked_until is not None and now < quota.blocked_until


def word_ends(quota: Quota) -> datetime | None:
    """Return until when counts what the provider said is left: until its reset, or until two polls were missed."""
    if quota.provider_resets_at is not None or quota.provider_remaining is None or quota.provider_observed_at is None:
        return quota.provider_resets_at
    return quota.provider_observed_at + 2 * timedelta(seconds=quota.poll_ceiling_seconds)


def bar(quota: Quota) -> int:
    """Return what more has to be available than this for waiting work to go on: a part of the limit."""
    limits = [limit for limit in (quota.limit, quota.provider_limit) if limit is not None]
    return int(min(limits) * quota.resume_threshold) if limits else 0


def _by_own_limit(quota: Quota, now: datetime) -> int | None:
    return None if quota.limit is None else quota.limit - used_at(quota, now) - quota.reserved


def _comes_back(quota: Quota, amount: int, now: datetime) -> datetime | None:
    """Return when the quota's own rule gives the amount; None: a person has to give it, or to raise the limit."""
    if quota.limit is None or amount > quota.limit:
        return None
    if quota.kind == Kind.RATE:
        return max(now, refills_at(quota, amount))
    return quota.period_end if quota.kind == Kind.PERIODIC else None


def _by_provider(quota: Quota, now: datetime) -> int | None:
    """Return what the provider's last word leaves: it said so much, and since then so much was spent."""
    if is_blocked(quota, now):
        return 0
    ends = word_ends(quota)
    if quota.provider_remaining is None or ends is None or now >= ends:
        return None
    return quota.provider_remaining - (quota.spent_total - quota.provider_spent_at_observation) - quota.reserved

"""What an observation changes in a quota's row. Pure: the caller holds the lock, and judges and saves it."""

from datetime import datetime, timedelta

from quotas.models import ProviderReport, Quota
from quotas.provider.observation import Observation

# The provider refuses and does not say until when: our guess, doubled with each refusal in a row.
FIRST_GUESS = timedelta(seconds=30)
LONGEST_GUESS = timedelta(hours=1)
# It says when and refuses again: no sooner than this, doubled with each refusal in a row.
SHORTEST_BLOCK = timedelta(seconds=1)
LONGEST_SHORTEST_BLOCK = timedelta(minutes=5)

# Waits in whole seconds, counted from when they are heard, differ by that much.
JITTER = timedelta(seconds=2)
# An answer that comes so soon after a refusal was under way when that came: it says nothing of what is now.
UNDER_WAY = timedelta(seconds=5)
# A window that has not ended does not end at another time: the provider's clock is wrong, or its window slides.
MOVED = timedelta(minutes=1)
# What is left is written anew after so long, even if it is what was expected.
STALE = timedelta(minutes=1)
# Healthy answers that differ, of two endpoints for example, are kept at most so often.
BETWEEN_HEALTHY_REPORTS = timedelta(minutes=1)


def take_in(quota: Quota, said: Observation) -> None:
    """Take over what was said: it blocks, or confirms that the provider lets us in, or only gives figures."""
    if _was_under_way(quota, said):
        return
    _take_figures(quota, said)
    if said.limited:
        _block(quota, said)
    elif said.confirms:
        _confirm(quota, said)
    if said.says_something or said.confirms:
        quota.provider_observed_at = said.received_at


def is_out_of_order(quota: Quota, said: Observation) -> bool:
    """Return whether something later was heard already."""
    return quota.provider_observed_at is not None and said.received_at < quota.provider_observed_at


def is_news(quota: Quota, said: Observation) -> bool:
    """Return whether it says more than the row does, so that it is worth a write."""
    if is_out_of_order(quota, said) or _was_under_way(quota, said):
        return False
    if said.limited or (said.confirms and _awaits_confirmation(quota, said)):
        return True
    if said.limit is not None and said.limit != quota.provider_limit:
        return True
    return _is_another_window(quota, said) or _is_another_rest(quota, said)


def report(quota: Quota, said: Observation, latest: ProviderReport | None) -> ProviderReport | None:
    """Return the row of the history, or None if it says nothing that the latest one does not.

    Args:
        quota: before it took the observation in.
    """
    doubts = list(said.doubts)
    if _has_moved(quota, said):
        doubts.append("The time at which to come back has moved although the earlier one has not passed.")
    ends_refusal = said.confirms and quota.blocked_count > 0 and not _was_under_way(quota, said)
    if not (ends_refusal or _is_worth_keeping(said, doubts, latest)):
        return None
    return ProviderReport(
        quota_id=quota.pk,
        at=said.received_at,
        limited=said.limited,
        status=said.status,
        limit=said.limit,
        remaining=said.remaining,
        resets_at=said.resets_at,
        retry_at=said.retry_at,
        doubts="\n".join(doubts),
    )


# --- the row -----------------------------------------------------------------------------------------------------


def _take_figures(quota: Quota, said: Observation) -> None:
    if said.limit is not None:
        quota.provider_limit = said.limit
    if said.resets_at is not None and said.resets_at <= said.received_at:
        # of a window that has ended: what is left in the next one was not said
        quota.provider_remaining, quota.provider_resets_at = None, None
        return
    if said.resets_at is not None:
        quota.provider_resets_at = said.resets_at
    if said.remaining is not None:
        quota.provider_remaining = said.remaining
        quota.provider_spent_at_observation = quota.spent_total


def _block(quota: Quota, said: Observation) -> None:
    """Note until when the provider refuses. Several workers that are refused at once are one refusal."""
    is_another = quota.blocked_until is None
    quota.blocked_count += is_another
    if said.hint is not None:
        shortest = _doubled(SHORTEST_BLOCK, quota.blocked_count, LONGEST_SHORTEST_BLOCK)
        quota.blocked_until, quota.blocked_without_reset = max(said.hint, said.received_at + shortest), False
    elif is_another:
        guess = _doubled(FIRST_GUESS, quota.blocked_count, LONGEST_GUESS)
        quota.blocked_until, quota.blocked_without_reset = said.received_at + guess, True
    _end_trial(quota)


def _confirm(quota: Quota, said: Observation) -> None:
    quota.blocked_until, quota.blocked_without_reset, quota.blocked_count = None, False, 0
    if said.remaining is None and quota.provider_remaining == 0:
        quota.provider_remaining = None  # it let us in, so that is over
    _end_trial(quota)


def _end_trial(quota: Quota) -> None:
    quota.provider_unverified, quota.trial_owner, quota.trial_until = False, "", None


def _doubled(first: timedelta, count: int, longest: timedelta) -> timedelta:
    return min(first * 2 ** min(count - 1, 20), longest) if count > 0 else first


# --- what is new -------------------------------------------------------------------------------------------------


def _was_under_way(quota: Quota, said: Observation) -> bool:
    """Return whether the answer was sent before the provider began to refuse; one refusal outweighs those."""
    if said.limited or quota.blocked_until is None or quota.provider_observed_at is None:
        return False
    return said.received_at < quota.provider_observed_at + UNDER_WAY


def _awaits_confirmation(quota: Quota, said: Observation) -> bool:
    if quota.blocked_until is not None or quota.provider_unverified or quota.blocked_count:
        return True
    return quota.provider_remaining == 0 and said.remaining is None


def _is_another_window(quota: Quota, said: Observation) -> bool:
    if said.resets_at is None or said.resets_at <= said.received_at:
        return False
    return quota.provider_resets_at is None or _differ(said.resets_at, quota.provider_resets_at, JITTER)


def _is_another_rest(quota: Quota, said: Observation) -> bool:
    """Return whether more or less is left than what we spent since explains: by a hundredth of the limit, or at all
    where little is left; after a while it is worth a write that it is so still.
    """
    if said.remaining is None:
        return False
    if quota.provider_remaining is None or quota.provider_observed_at is None:
        return True
    if said.received_at - quota.provider_observed_at >= STALE:
        return True
    expected = quota.provider_remaining - (quota.spent_total - quota.provider_spent_at_observation)
    limit = said.limit or quota.provider_limit or quota.provider_remaining
    difference = abs(said.remaining - expected)
    return difference * 100 > limit or (said.remaining * 10 <= limit and difference > 0)


def _has_moved(quota: Quota, said: Observation) -> bool:
    """Return whether a time at which to come back is another although the one before has not passed (B74)."""
    known = quota.blocked_until if said.limited and not quota.blocked_without_reset else quota.provider_resets_at
    told = said.hint if said.limited else said.resets_at
    return known is not None and told is not None and known > said.received_at and _differ(known, told, MOVED)


def _is_worth_keeping(said: Observation, doubts: list[str], latest: ProviderReport | None) -> bool:
    if latest is None:
        return said.says_something or bool(doubts)
    if said.limited:
        return not latest.limited or _differ(latest.retry_at or latest.resets_at, said.hint, JITTER)
    if not latest.limited and said.received_at < latest.at + BETWEEN_HEALTHY_REPORTS:
        return False
    is_another_limit = said.limit is not None and said.limit != latest.limit
    return is_another_limit or (bool(doubts) and "\n".join(doubts) != latest.doubts)


def _differ(one: datetime | None, other: datetime | None, tolerance: timedelta) -> bool:
    if one is None or other is None:
        return one is not other
    return abs(one - other) > tolerance

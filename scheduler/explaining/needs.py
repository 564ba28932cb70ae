"""What a run needs of a quota, what is there, and why that is not enough, in words."""

from datetime import datetime

from quotas import availability
from quotas.models import Quota
from quotas.states import Verdict
from scheduler import wording
from scheduler.explaining.quota_facts import Need


def need_in_words(need: Need, zone: str, now: datetime) -> str:
    """Return the need, and how the quota stands to it, as a sentence; times are by the clocks of the zone."""
    link = need.above_limit() or need.refused_by(now) or need.quota
    amount = f"{need.amount:,} {need.quota.unit}".rstrip()
    whose = "" if link is need.quota else f"; that is a part of “{link.key}”"
    return f"It needs {amount} of “{need.quota.key}”{whose}, which {_standing(link, need.amount, zone, now)}."


def _standing(link: Quota, amount: int, zone: str, now: datetime) -> str:
    """Return how the quota stands to the need, as what is said of it."""
    if said := _rule(link, amount) or _provider(link, zone, now):
        return said
    left = availability.available(link, now)
    if left is None:
        return "is unlimited"
    if left < amount:
        return f"has {left:,} left: {availability.why(link, amount, now).label}"
    return f"has {left:,} left{_hysteresis(link, left, zone, now)}"


def _rule(link: Quota, amount: int) -> str:
    if link.shadow:
        return "blocks nobody, as it is in shadow mode"
    if link.limit == 0:
        return "is blocked: its limit is 0"
    if link.limit is not None and amount > link.limit:
        return f"can never have that, as its limit is {link.limit:,}"
    return ""


def _provider(link: Quota, zone: str, now: datetime) -> str:
    if availability.is_blocked(link, now) and link.blocked_until is not None:
        return _refused(link, wording.local(link.blocked_until, zone))
    return _unverified(link, now) if link.provider_unverified else ""


def _refused(link: Quota, until: str) -> str:
    if link.blocked_without_reset:
        return f"is refused by its provider, who does not say until when; a run tries after {until}"
    return f"is refused by its provider until {until}"


def _unverified(link: Quota, now: datetime) -> str:
    is_tried = bool(link.trial_owner) and link.trial_until is not None and now < link.trial_until
    trial = f"{link.trial_owner.replace(':', ' #')} tries now" if is_tried else "one run at a time tries"
    return f"was refused by its provider, and nobody has seen that answer again: {trial}"


def _hysteresis(link: Quota, left: int, zone: str, now: datetime) -> str:
    if link.verdict == Verdict.SUFFICIENT:
        return ""
    if left <= availability.bar(link):
        return f"; paused work goes on once that is more than {availability.bar(link):,}"
    if link.evaluate_at is None or link.evaluate_at <= now:
        return "; paused work goes on once it is judged anew"
    return f"; paused work goes on if that lasts until {wording.local(link.evaluate_at, zone)}"

"""What a run needs of a quota, what is there, and why that is not enough, in words."""

from datetime import datetime

from django.utils.translation import gettext as _

from quotas import availability
from quotas.models import Quota
from quotas.states import Verdict
from scheduler import wording
from scheduler.explaining.quota_facts import Need


def need_in_words(need: Need, zone: str, now: datetime) -> str:
    """Return the need, and how the quota stands to it, as a sentence; times are by the clocks of the zone."""
    link = need.above_limit() or need.refused_by(now) or need.quota
    text = _("It needs %(amount)s of “%(quota)s”, which %(standing)s.")
    if link is not need.quota:
        text = _("It needs %(amount)s of “%(quota)s”; that is a part of “%(whole)s”, which %(standing)s.")
    return text % {
        "amount": f"{need.amount:,} {need.quota.unit}".rstrip(),
        "quota": need.quota.key,
        "whole": link.key,
        "standing": _standing(link, need.amount, zone, now),
    }


def amount_of(need: Need) -> str:
    """Return how much of which quota is needed."""
    return _("%(amount)s of “%(quota)s”") % {"amount": f"{need.amount:,}", "quota": need.quota.key}


def _standing(link: Quota, amount: int, zone: str, now: datetime) -> str:
    """Return how the quota stands to the need, as what is said of it."""
    if said := _rule(link, amount) or _provider(link, zone, now):
        return said
    left = availability.available(link, now)
    if left is None:
        return _("is unlimited")
    if left < amount:
        return _("has %(left)s left: %(why)s") % {"left": f"{left:,}", "why": availability.why(link, amount, now).label}
    return _hysteresis(link, left, zone, now)


def _rule(link: Quota, amount: int) -> str:
    if link.shadow:
        return _("blocks nobody, as it is in shadow mode")
    if link.limit == 0:
        return _("is blocked: its limit is 0")
    if link.limit is not None and amount > link.limit:
        return _("can never have that, as its limit is %(limit)s") % {"limit": f"{link.limit:,}"}
    return ""


def _provider(link: Quota, zone: str, now: datetime) -> str:
    if availability.is_blocked(link, now) and link.blocked_until is not None:
        return _refused(link, wording.local(link.blocked_until, zone))
    return _unverified(link, now) if link.provider_unverified else ""


def _refused(link: Quota, until: str) -> str:
    if link.blocked_without_reset:
        text = _("is refused by its provider, who does not say until when; a run tries after %(until)s")
        return text % {"until": until}
    return _("is refused by its provider until %(until)s") % {"until": until}


def _unverified(link: Quota, now: datetime) -> str:
    is_tried = bool(link.trial_owner) and link.trial_until is not None and now < link.trial_until
    text = _("was refused by its provider, and nobody has seen that answer again: one run at a time tries")
    if is_tried:
        text = _("was refused by its provider, and nobody has seen that answer again: %(who)s tries now")
    return text % {"who": link.trial_owner.replace(":", " #")}


def _hysteresis(link: Quota, left: int, zone: str, now: datetime) -> str:
    if link.verdict == Verdict.SUFFICIENT:
        return _("has %(left)s left") % {"left": f"{left:,}"}
    if left <= availability.bar(link):
        text = _("has %(left)s left; paused work goes on once that is more than %(bar)s")
        return text % {"left": f"{left:,}", "bar": f"{availability.bar(link):,}"}
    if link.evaluate_at is None or link.evaluate_at <= now:
        return _("has %(left)s left; paused work goes on once it is judged anew") % {"left": f"{left:,}"}
    text = _("has %(left)s left; paused work goes on if that lasts until %(until)s")
    return text % {"left": f"{left:,}", "until": wording.local(link.evaluate_at, zone)}

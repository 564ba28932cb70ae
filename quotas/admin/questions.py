"""What people ask about quotas, each as a condition: the list filters by it, the home page counts it."""

from datetime import datetime

from django.db.models import F, Q
from django.utils.translation import gettext_lazy as _

from project.kit.admin import Question
from quotas.states import Kind, Verdict


def is_insufficient(now: datetime) -> Q:
    """Quotas for which work waits, or would."""
    return Q(verdict=Verdict.INSUFFICIENT)


def is_waited_for(now: datetime) -> Q:
    """Quotas for which work waits."""
    return Q(waited_for__isnull=False)


def is_nearly_used(now: datetime) -> Q:
    """Quotas of which at least 80 % is used in the present period; of a rate that says nothing."""
    present = Q(period_end__isnull=True) | Q(period_end__gt=now)
    return present & Q(limit__gt=0, used__gte=F("limit") * 4 / 5) & ~Q(kind=Kind.RATE)


def is_refused(now: datetime) -> Q:
    """Quotas whose provider refuses for the present."""
    return Q(blocked_until__gt=now)


def is_unverified(now: datetime) -> Q:
    """Quotas whose provider refused, and that nobody has seen answer again."""
    return Q(provider_unverified=True)


def is_blocked(now: datetime) -> Q:
    """Quotas of which nothing can be charged until somebody raises the limit."""
    return Q(limit=0)


def is_in_shadow(now: datetime) -> Q:
    """Quotas that count and report, and block nothing."""
    return Q(shadow=True)


QUOTA_QUESTIONS = (
    Question("insufficient", _("insufficient"), is_insufficient),
    Question("waited-for", _("waited for"), is_waited_for),
    Question("nearly-used", _("80 % used"), is_nearly_used),
    Question("refused", _("refused by the provider"), is_refused),
    Question("unverified", _("provider unverified"), is_unverified),
    Question("blocked", _("blocked by limit 0"), is_blocked),
    Question("shadow", _("shadow mode"), is_in_shadow),
)

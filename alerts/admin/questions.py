"""What people ask about alerts and silences, each as a condition: the list filters by it, the home page counts it."""

from datetime import datetime

from django.db.models import Q
from django.utils.translation import gettext_lazy as _

from alerts.states import AlertState, Severity
from project.kit.admin import Question


def is_open(now: datetime) -> Q:
    """Alerts to which nobody sees yet."""
    return Q(state=AlertState.OPEN, resolved_at__isnull=True)


def is_critical(now: datetime) -> Q:
    """Alerts that are not resolved, and matter most."""
    return Q(severity=Severity.CRITICAL, resolved_at__isnull=True)


def is_acknowledged(now: datetime) -> Q:
    """Alerts to which somebody sees."""
    return Q(state=AlertState.ACKNOWLEDGED, resolved_at__isnull=True)


def is_untold(now: datetime) -> Q:
    """Alerts that are not resolved, and of whose opening nobody was told."""
    return Q(resolved_at__isnull=True) & ~Q(untold="")


def is_resolved(now: datetime) -> Q:
    """Alerts that are over."""
    return Q(resolved_at__isnull=False)


def is_in_force(now: datetime) -> Q:
    """Silences that hold now."""
    return Q(starts_at__lte=now, ends_at__gt=now)


ALERT_QUESTIONS = (
    Question("open", _("open"), is_open),
    Question("critical", _("critical"), is_critical),
    Question("acknowledged", _("acknowledged"), is_acknowledged),
    Question("untold", _("not told"), is_untold),
    Question("resolved", _("resolved"), is_resolved),
)
SILENCE_QUESTIONS = (Question("in-force", _("in force"), is_in_force),)

"""What people ask about accounts and cards, each as a condition by which a list filters."""

from datetime import datetime

from django.db.models import Exists, F, OuterRef, Q
from django.utils.translation import gettext_lazy as _
from django.utils.translation import pgettext_lazy

from project.kit.admin import Question
from scheduler.polling.models import CardCheck


def is_held(now: datetime) -> Q:
    """Accounts that are left in peace now."""
    return Q(held_until__gt=now)


def is_off(now: datetime) -> Q:
    """Accounts that are switched off."""
    return Q(active=False)


def fails(now: datetime) -> Q:
    """Cards of which a check fails."""
    return Q(Exists(CardCheck.objects.filter(card=OuterRef("pk"), failures__gt=0)))


def is_not_polled(now: datetime) -> Q:
    """Cards that are not polled, by themselves or because their account is off."""
    return Q(polling_enabled=False) | Q(account__active=False)


def is_nearly_used(now: datetime) -> Q:
    """Cards of which at least 80 % of the allowance is used."""
    return Q(allowance_bytes__gt=0, used_bytes__gte=F("allowance_bytes") * 4 / 5)


ACCOUNT_QUESTIONS = (
    Question("held", pgettext_lazy("account", "held"), is_held),
    Question("off", _("off"), is_off),
)
CARD_QUESTIONS = (
    Question("failing", _("failing"), fails),
    Question("not-polled", _("not polled"), is_not_polled),
    Question("nearly-used", _("80 % used"), is_nearly_used),
)

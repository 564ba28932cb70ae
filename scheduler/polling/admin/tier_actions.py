"""What a person can do with a tier, beside editing it."""

from datetime import datetime

from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy

from project.kit.admin import Asked, Done, ObjectAction, RequiredReasonForm
from scheduler.polling import defining
from scheduler.polling.models import PollingTier


def _no_obstacle(tier: PollingTier) -> str:
    return ""


def _delete_consequences(tier: PollingTier, now: datetime) -> list[str]:
    following = PollingTier.objects.filter(position__gt=tier.position).order_by("position").first()
    others = (
        _("Its cards belong to the first tier behind it that matches them: “%(tier)s” is the next.")
        % {"tier": following}
        if following
        else _("It is the last tier: cards that only it matches are not checked any more.")
    )
    return [
        others,
        _("They follow with their next check, and all of them within minutes, when the orders are built anew."),
        _("That cannot be undone."),
    ]


def _delete(tier: PollingTier, asked: Asked) -> Done:
    defining.delete_tier(tier, expected_version=tier.version)
    return Done(_("The tier “%(tier)s” is deleted.") % {"tier": tier}, gone=True)


DELETE = ObjectAction(
    name="delete-tier",
    label=gettext_lazy("Delete"),
    permission="polling.delete_pollingtier",
    obstacle=_no_obstacle,
    consequences=_delete_consequences,
    perform=_delete,
    form=RequiredReasonForm,
    tone="danger",
)
TIER_ACTIONS = (DELETE,)

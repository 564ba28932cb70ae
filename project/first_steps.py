"""What somebody who has just come does first: shown on the home page until there is a schedule."""

from dataclasses import dataclass

from django.contrib.auth.models import AbstractBaseUser, AnonymousUser, PermissionsMixin
from django.urls import reverse
from django.utils.functional import Promise
from django.utils.translation import gettext_lazy as _


@dataclass(frozen=True, slots=True)
class Step:
    """Something to add, where that is done, and what comes of it."""

    label: str | Promise
    text: str | Promise
    permission: str
    address: str
    command: str = ""

    @property
    def url(self) -> str:
        """Where it is done."""
        return reverse(self.address)


STEPS = (
    Step(
        _("Add a schedule"),
        _("Choose a job and when it runs; the form shows the next times while you type. A crontab can be imported:"),
        "scheduler.add_schedule",
        "admin:scheduler_schedule_add",
        "manage.py import_crontab FILE",
    ),
    Step(
        _("Add a channel"),
        _("Say which chat group, webhook or mailbox is told when something fails, and send it a test message."),
        "alerts.add_channel",
        "admin:alerts_channel_add",
    ),
    Step(
        _("Add a quota"),
        _("Where work may spend only so much: it pauses when the quota is used up, and goes on when it comes back."),
        "quotas.add_quota",
        "admin:quotas_quota_add",
    ),
    Step(
        _("Add a carrier account"),
        _("Where SIM cards are looked after: they are asked about under the carrier's limits."),
        "polling.add_carrieraccount",
        "admin:polling_carrieraccount_add",
    ),
)


def steps_for(user: AbstractBaseUser | AnonymousUser) -> list[Step]:
    """Return the steps that the user may take."""
    return [step for step in STEPS if isinstance(user, PermissionsMixin) and user.has_perm(step.permission)]

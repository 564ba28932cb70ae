"""What a schedule's page shows of the quota that its runs need, and of those of its runs that wait for quotas."""

from datetime import datetime
from typing import Any

from django.urls import reverse
from django.utils.html import format_html
from django.utils.safestring import SafeString
from django.utils.translation import gettext as _
from django.utils.translation import ngettext

from project.kit.admin import badge, row_link
from quotas import availability
from quotas.models import Quota
from quotas.states import COLOURS, Verdict
from scheduler.admin import cells
from scheduler.models import Schedule, TaskRun
from scheduler.states import RunState

# Nobody counts further, and the page asks each time it is shown.
COUNTED = 1000


def facts(schedule: Schedule, now: datetime) -> list[tuple[str, Any]]:
    """Return labels and values; what does not apply is left out."""
    quota = schedule.quota
    known: list[tuple[str, Any]] = [
        (_("quota"), _standing(quota) if quota else None),
        (_("needs of it"), _need(schedule, quota) if quota else None),
        (_("available"), _available(quota, now) if quota else None),
        (_("runs paused by quotas"), _paused_runs(schedule)),
        (_("paused runs go on"), cells.valve(schedule)),
    ]
    return [(label, value) for label, value in known if value is not None]


def _standing(quota: Quota) -> SafeString:
    verdict = Verdict(quota.verdict)
    return format_html("{} {}", row_link(quota, quota.key), badge(verdict.label, COLOURS[verdict]))


def _need(schedule: Schedule, quota: Quota) -> str:
    need = schedule.quota_need or quota.default_step
    usual = "" if schedule.quota_need else " " + _("(its usual need)")
    return f"{cells.amount(need, quota)}{usual}"


def _available(quota: Quota, now: datetime) -> str:
    left = availability.available(quota, now)
    return _("unlimited") if left is None else cells.amount(left, quota)


def _paused_runs(schedule: Schedule) -> SafeString | None:
    count = TaskRun.objects.filter(schedule=schedule, state=RunState.PAUSED)[: COUNTED + 1].count()
    if not count:
        return None
    address = f"{reverse('admin:scheduler_taskrun_changelist')}?schedule={schedule.pk}&show=quota"
    many = f"{COUNTED:,}+" if count > COUNTED else f"{count:,}"
    text = ngettext("%(count)s run", "%(count)s runs", count) % {"count": many}
    return format_html('<a href="{}">{}</a>', address, text)

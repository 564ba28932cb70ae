"""Backfills: ranges of data days that people had schedules run for."""

from datetime import datetime
from typing import Any

from django.contrib import admin
from django.db.models import Count, QuerySet
from django.http import HttpRequest
from django.utils.safestring import SafeString
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy

from project.kit.admin import (
    Asked,
    Done,
    HistoryAdmin,
    ObjectAction,
    ObjectActionsMixin,
    ObjectPageMixin,
    badge,
    seen_at,
    short,
    when,
)
from scheduler import backfilling
from scheduler.admin import cells
from scheduler.admin.filters import ScheduleFilter
from scheduler.admin.schedule_page import run_line, strip_cell
from scheduler.models import Backfill, TaskRun
from scheduler.operations import NotPossible
from scheduler.states import RunState

RUNS_SHOWN = 100
STRIP_SHOWN = 366
REFRESH_SECONDS = 5


def _left(backfill: Backfill) -> QuerySet[TaskRun]:
    return TaskRun.objects.filter(backfill=backfill, finished_at__isnull=True)


def _cancel_obstacle(backfill: Backfill) -> str:
    return "" if _left(backfill).exists() else _("Nothing of it is left: all its runs have ended.")


def _cancel_consequences(backfill: Backfill, now: datetime) -> list[str]:
    left = _left(backfill)
    running = left.filter(state=RunState.RUNNING).count()
    return [
        _("%(count)s runs are cancelled; of these %(running)s are running and end at their next checkpoint.")
        % {"count": left.count(), "running": running},
        _("What has ended stays as it is. The days that are left can be asked for again, as another backfill."),
    ]


def _cancel(backfill: Backfill, asked: Asked) -> Done:
    count = backfilling.cancel_backfill(backfill, now=asked.now, actor=asked.actor, reason=asked.reason)
    return Done(_("%(count)s runs are cancelled, or asked to.") % {"count": count})


CANCEL_LEFT = ObjectAction(
    name="cancel",
    label=gettext_lazy("Cancel what is left"),
    permission="scheduler.cancel_backfill",
    obstacle=_cancel_obstacle,
    consequences=_cancel_consequences,
    perform=_cancel,
    tone="danger",
)


@admin.register(Backfill)
class BackfillAdmin(ObjectActionsMixin, ObjectPageMixin, HistoryAdmin):
    """The backfills."""

    list_display = (
        "number",
        "schedule_name",
        "first",
        "last",
        "parallel",
        "asked",
        "created_by",
        "standing",
        "because",
    )
    list_filter = (ScheduleFilter,)
    ordering = ("-id",)
    object_actions = (CANCEL_LEFT,)
    refusals = (NotPossible,)
    page_template = "admin/object_page.html"
    fragment_template = "admin/scheduler/backfill/page.html"

    def seen(self, row: Backfill) -> str:
        """Return what a confirmation is bound to; runs that end meanwhile do not matter."""
        return str(row.cancelled_at is not None)

    def for_list(self, rows: QuerySet[Backfill]) -> QuerySet[Backfill]:
        """Return the rows with their schedule's name."""
        own = [column.name for column in Backfill._meta.concrete_fields]
        return rows.select_related("schedule").only(*own, "schedule__id", "schedule__name")

    @admin.display(description=gettext_lazy("backfill"))
    def number(self, backfill: Backfill) -> str:
        """Its number."""
        return f"#{backfill.pk}"

    @admin.display(description=gettext_lazy("schedule"))
    def schedule_name(self, backfill: Backfill) -> SafeString:
        """Which schedule runs."""
        return cells.schedule_link(backfill.schedule_id, backfill.schedule.name)

    @admin.display(description=gettext_lazy("first data day"))
    def first(self, backfill: Backfill) -> str:
        """Its first data day."""
        return backfill.first_day.isoformat()

    @admin.display(description=gettext_lazy("last data day"))
    def last(self, backfill: Backfill) -> str:
        """Its last data day."""
        return backfill.last_day.isoformat()

    @admin.display(description=gettext_lazy("asked"))
    def asked(self, backfill: Backfill) -> SafeString:
        """When it was asked for."""
        return when(backfill.created_at, seen_at(backfill))

    @admin.display(description=gettext_lazy("state"))
    def standing(self, backfill: Backfill) -> SafeString:
        """Whether it was cancelled."""
        return badge(_("cancelled"), "grey", backfill.cancelled_by) if backfill.cancelled_at else SafeString()

    @admin.display(description=gettext_lazy("reason"))
    def because(self, backfill: Backfill) -> SafeString:
        """Why it was asked for."""
        return short(backfill.reason, 90)

    def page_context(self, request: HttpRequest, row: Backfill) -> dict[str, Any]:
        """Return what the page shows of a backfill."""
        now = seen_at(row)
        runs = TaskRun.objects.filter(backfill=row).order_by("id")
        counts = runs.order_by().values_list("state").annotate(count=Count("id"))
        by_state = sorted(counts, key=lambda counted: list(RunState).index(RunState(counted[0])))
        latest = runs.order_by("-id")
        return {
            "backfill": row,
            "standing": self.standing(row),
            "actions": self.offered_actions(request, row),
            "facts": _facts(row, now),
            "counts": [(cells.state_badge(state), count) for state, count in by_state],
            "strip": cells.strip(latest.values_list(strip_cell(), flat=True)[:STRIP_SHOWN]),
            "runs": [run_line(run, now) for run in runs.defer("params", "progress", "result")[:RUNS_SHOWN]],
            "refresh_seconds": REFRESH_SECONDS if _left(row).exists() else None,
        }


def _facts(backfill: Backfill, now: datetime) -> list[tuple[str, Any]]:
    facts: list[tuple[str, Any]] = [
        (_("schedule"), cells.schedule_link(backfill.schedule_id, backfill.schedule.name)),
        (_("data days"), _("%(first)s to %(last)s") % {"first": backfill.first_day, "last": backfill.last_day}),
        (_("at once"), backfill.parallel),
        (_("asked"), when(backfill.created_at, now)),
        (_("by"), backfill.created_by),
        (_("reason"), backfill.reason),
        (_("cancelled"), when(backfill.cancelled_at, now) if backfill.cancelled_at else ""),
        (_("cancelled by"), backfill.cancelled_by),
    ]
    return [(label, value) for label, value in facts if value]

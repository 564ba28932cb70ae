"""Runs: the list, and the page of one. Nobody edits a run; what can be done with it are actions."""

from datetime import datetime
from typing import Any

from django.contrib import admin
from django.db import transaction
from django.db.models import Q, QuerySet
from django.http import HttpRequest
from django.utils.html import format_html
from django.utils.safestring import SafeString
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy

from project.kit.admin import (
    BulkActionsMixin,
    Done,
    HistoryAdmin,
    ObjectAction,
    ObjectPageMixin,
    ReasonForm,
    pretty_json,
    seen_at,
    short,
    when,
)
from scheduler import accounts, wording
from scheduler.admin import cells, run_page, run_quotas, why
from scheduler.admin.filters import (
    BackfillFilter,
    DataDayFilter,
    JobFilter,
    RunQuestionFilter,
    ScheduleFilter,
    WaitsForQuotaFilter,
)
from scheduler.admin.run_actions import RUN_ACTIONS, open_question
from scheduler.admin.run_resuming import RESUME, has_gone_on
from scheduler.admin.secret_params import masked
from scheduler.explaining import explain_run, read_quota_facts
from scheduler.models import Schedule, TaskRun
from scheduler.operations import NotPossible, Resumed

RERUNS_SHOWN = 10
APPROVALS_SHOWN = 100


@admin.register(TaskRun)
class TaskRunAdmin(BulkActionsMixin, ObjectPageMixin, HistoryAdmin):
    """The runs."""

    list_display = ("number", "name", "day", "badges", "next_or_last", "why", "bar", "tries", "started", "lasted")
    list_display_links = ("number", "name")
    list_filter = (
        RunQuestionFilter,
        "state",
        JobFilter,
        ScheduleFilter,
        BackfillFilter,
        WaitsForQuotaFilter,
        DataDayFilter,
    )
    search_fields = ("name",)
    search_help_text = gettext_lazy("number, or part of a schedule's name")
    ordering = ("-id",)
    object_actions = RUN_ACTIONS
    refusals = (NotPossible,)
    page_template = "admin/object_page.html"
    fragment_template = "admin/scheduler/taskrun/page.html"

    def seen(self, row: TaskRun) -> str:
        """Return the state that a confirmation is bound to; a checkpoint made meanwhile does not matter."""
        return f"{row.state}:{row.attempt_count}:{row.cancel_requested_at is not None}"

    def for_list(self, rows: QuerySet[TaskRun]) -> QuerySet[TaskRun]:
        """Return the rows without what only the page shows."""
        return rows.defer("params", "progress", "result")

    def get_search_results(
        self, request: HttpRequest, queryset: QuerySet[TaskRun], search_term: str
    ) -> tuple[QuerySet[TaskRun], bool]:
        """Find a run by its number, or runs by their schedule's name; each has an index, a run's own name has none."""
        term = search_term.strip()
        if not term:
            return queryset, False
        if term.removeprefix("#").isdecimal():
            return queryset.filter(pk=term.removeprefix("#")), False
        schedules = list(Schedule.objects.filter(name__icontains=term).values_list("pk", flat=True)[:1000])
        return queryset.filter(Q(schedule__in=schedules) | Q(schedule=None, name__icontains=term)), False

    @transaction.atomic
    def perform(self, request: HttpRequest, action: ObjectAction, pk: Any, seen: str, form: ReasonForm) -> Done:
        """Perform the action under the locks of the run's quotas, which are taken before the run's own everywhere.

        A run that somebody else has resumed meanwhile is resumed: that is no refusal.
        """
        accounts.lock([int(pk)])
        if action is RESUME and (run := self.get_queryset(request).filter(pk=pk).first()) and has_gone_on(run):
            return Done(wording.resumed(run.pk, Resumed.ALREADY))
        return super().perform(request, action, pk, seen, form)

    # --- the list's columns ------------------------------------------------------------------------------------

    @admin.display(description=gettext_lazy("run"))
    def number(self, run: TaskRun) -> str:
        """Its number."""
        return f"#{run.pk}"

    @admin.display(description=gettext_lazy("data day"))
    def day(self, run: TaskRun) -> str:
        """Its data day, as it is written everywhere."""
        return run.stat_date.isoformat()

    @admin.display(description=gettext_lazy("state"))
    def badges(self, run: TaskRun) -> SafeString:
        """Its state."""
        return cells.run_badges(run, seen_at(run))

    @admin.display(description=gettext_lazy("next / last"))
    def next_or_last(self, run: TaskRun) -> SafeString:
        """When something happens next, or happened last."""
        return _next_or_last(run, seen_at(run))

    @admin.display(description=gettext_lazy("why"))
    def why(self, run: TaskRun) -> SafeString:
        """Why it is in this state."""
        return short(run.reason, 70)

    @admin.display(description=gettext_lazy("progress"))
    def bar(self, run: TaskRun) -> SafeString:
        """How far it got."""
        return cells.progress(run)

    @admin.display(description=gettext_lazy("tries"))
    def tries(self, run: TaskRun) -> int:
        """How often a worker began it."""
        return run.attempt_count

    @admin.display(description=gettext_lazy("started"))
    def started(self, run: TaskRun) -> SafeString:
        """When it first began."""
        return when(run.started_at, seen_at(run))

    @admin.display(description=gettext_lazy("took"))
    def lasted(self, run: TaskRun) -> str:
        """How long it took, or takes so far."""
        return cells.took(run.started_at, run.finished_at, seen_at(run))

    # --- the page ----------------------------------------------------------------------------------------------

    def page_context(self, request: HttpRequest, row: TaskRun) -> dict[str, Any]:
        """Return what the page shows of a run."""
        now = seen_at(row)
        quotas = read_quota_facts(row, now)
        offered = self.offered_actions(request, row)
        answers = run_page.answers(offered)
        explanations = why.shown(explain_run(row, now=now, quotas=quotas), now)
        return {
            "run": row,
            "badges": cells.run_badges(row, now),
            "question": open_question(row),
            "answers": answers,
            "seen": self.seen(row),
            "approvals": list(row.approvals.order_by("segment").exclude(answer="")[:APPROVALS_SHOWN]),
            "why": explanations,
            "reason": run_page.unsaid_reason(row, explanations),
            "actions": [action for action in offered if action not in answers.values()],
            "progress": cells.progress(row),
            "checkpointed": when(row.checkpoint_at, now),
            "facts": run_page.facts(row, now),
            "quotas": run_quotas.section(row, quotas, now),
            "checkpoint": pretty_json(row.progress) if row.progress else "",
            "params": pretty_json(masked(row.job, row.params)) if row.params else "",
            "result": pretty_json(row.result) if row.result is not None else "",
            "attempts": run_page.attempts(row, now),
            "more_attempts": row.attempt_count > run_page.ATTEMPTS_SHOWN,
            "events": run_page.events(row),
            "reruns": list(row.reruns.order_by("-id").only("id", "state")[:RERUNS_SHOWN]),
            "refresh_seconds": run_page.refresh_seconds(row),
        }


def _next_or_last(run: TaskRun, now: datetime) -> SafeString:
    if run.finished_at is not None:
        return format_html("{} {}", _("ended"), when(run.finished_at, now))
    if run.due_at is not None:
        return format_html("{} {}", _("due"), when(run.due_at, now))
    if run.checkpoint_at is not None:
        return format_html("{} {}", _("checkpoint"), when(run.checkpoint_at, now))
    return SafeString()

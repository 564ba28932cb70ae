"""The filters of the scheduler's lists."""

from typing import Any

from django.contrib.admin import SimpleListFilter
from django.db.models import QuerySet
from django.http import HttpRequest
from django.utils.translation import gettext_lazy as _

from project.kit.admin import DayFilter, NamedRowFilter, QuestionFilter
from quotas.models import Quota
from scheduler.admin.questions import APPROVAL_QUESTIONS, RUN_QUESTIONS, SCHEDULE_QUESTIONS
from scheduler.jobs.registry import JOBS
from scheduler.models import Backfill, Schedule
from scheduler.states import RunState
from scheduler.waits import waiting_below


class RunQuestionFilter(QuestionFilter):
    """Runs by what people ask about them."""

    questions = RUN_QUESTIONS


class ScheduleQuestionFilter(QuestionFilter):
    """Schedules by what people ask about them."""

    questions = SCHEDULE_QUESTIONS


class ApprovalQuestionFilter(QuestionFilter):
    """Approvals by what people ask about them."""

    questions = APPROVAL_QUESTIONS


class DataDayFilter(DayFilter):
    """Runs by their data day."""

    title = _("data day")
    parameter_name = "stat_date"


class JobFilter(SimpleListFilter):
    """Rows by their job; the choices are the registered jobs, so that nobody reads all of history for them."""

    title = _("job")
    parameter_name = "job"

    def lookups(self, request: HttpRequest, model_admin: Any) -> list[tuple[str, str]]:
        """Return the registered jobs."""
        return [(key, JOBS[key].label) for key in sorted(JOBS)]

    def queryset(self, request: HttpRequest, queryset: QuerySet[Any]) -> QuerySet[Any]:
        """Return the rows of the chosen job."""
        return queryset.filter(job=self.value()) if self.value() else queryset


class BackfillFilter(NamedRowFilter):
    """Runs of a backfill."""

    title, parameter_name, model, known_by = _("backfill"), "backfill", Backfill, "pk"


class WaitsForQuotaFilter(NamedRowFilter):
    """Paused runs that wait for a quota, or for one that is part of it."""

    title, parameter_name, model, known_by = _("waits for quota"), "waits_for", Quota, "key"

    def of(self, queryset: QuerySet[Any], number: int) -> QuerySet[Any]:
        """Return the runs that wait."""
        return queryset.filter(state=RunState.PAUSED, pk__in=waiting_below(number).values("run"))


class ScheduleFilter(NamedRowFilter):
    """Rows of a schedule."""

    title, parameter_name, model, known_by = _("schedule"), "schedule", Schedule, "name"

"""The filters of the scheduler's lists."""

from typing import Any

from django.contrib.admin import SimpleListFilter
from django.db.models import QuerySet
from django.http import HttpRequest
from django.utils.translation import gettext_lazy as _

from project.kit.admin import DayFilter, QuestionFilter
from quotas.models import Quota
from scheduler.admin.questions import APPROVAL_QUESTIONS, RUN_QUESTIONS, SCHEDULE_QUESTIONS
from scheduler.jobs.registry import JOBS
from scheduler.models import Schedule
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
        return [(key, JOBS[key].title) for key in sorted(JOBS)]

    def queryset(self, request: HttpRequest, queryset: QuerySet[Any]) -> QuerySet[Any]:
        """Return the rows of the chosen job."""
        return queryset.filter(job=self.value()) if self.value() else queryset


class BackfillFilter(SimpleListFilter):
    """Runs of the one backfill that a link named."""

    title = _("backfill")
    parameter_name = "backfill"

    def lookups(self, request: HttpRequest, model_admin: Any) -> list[tuple[str, str]]:
        """Return the named backfill."""
        named = request.GET.get(self.parameter_name, "")
        return [(named, f"#{named}")] if named.isdecimal() else []

    def queryset(self, request: HttpRequest, queryset: QuerySet[Any]) -> QuerySet[Any]:
        """Return the runs of the named backfill."""
        named = self.value()
        return queryset.filter(backfill=named) if named and named.isdecimal() else queryset


class WaitsForQuotaFilter(SimpleListFilter):
    """Runs that wait for the one quota that a link named, or for one that is part of it."""

    title = _("waits for quota")
    parameter_name = "waits_for"

    def lookups(self, request: HttpRequest, model_admin: Any) -> list[tuple[str, str]]:
        """Return the named quota."""
        named = request.GET.get(self.parameter_name, "")
        rows = Quota.objects.filter(pk=named).values_list("key", flat=True) if named.isdecimal() else ()
        return [(named, key) for key in rows]

    def queryset(self, request: HttpRequest, queryset: QuerySet[Any]) -> QuerySet[Any]:
        """Return the paused runs that wait for the named quota."""
        named = self.value()
        if not named or not named.isdecimal():
            return queryset
        return queryset.filter(state=RunState.PAUSED, pk__in=waiting_below(int(named)).values("run"))


class ScheduleFilter(SimpleListFilter):
    """Rows of the one schedule that a link named; there may be too many schedules to choose from here."""

    title = _("schedule")
    parameter_name = "schedule"

    def lookups(self, request: HttpRequest, model_admin: Any) -> list[tuple[str, str]]:
        """Return the named schedule."""
        named = request.GET.get(self.parameter_name, "")
        rows = Schedule.objects.filter(pk=named).values_list("name", flat=True) if named.isdecimal() else ()
        return [(named, name) for name in rows]

    def queryset(self, request: HttpRequest, queryset: QuerySet[Any]) -> QuerySet[Any]:
        """Return the rows of the named schedule."""
        named = self.value()
        return queryset.filter(schedule=named) if named and named.isdecimal() else queryset

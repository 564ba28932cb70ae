"""By what runs are found."""

from typing import Any

import django_filters
from django.db.models import QuerySet

from project.kit.api.filtering import InstantFilter, RowFilter, ShowFilter
from quotas.models import Quota
from scheduler.admin.questions import RUN_QUESTIONS
from scheduler.models import TaskRun
from scheduler.states import RunState
from scheduler.waits import waiting_below


class RunFilters(django_filters.FilterSet):
    """By where it stands, whose it is, and when it is due."""

    show = ShowFilter(RUN_QUESTIONS)
    state = django_filters.ChoiceFilter(choices=RunState.choices)
    schedule = RowFilter(field_name="schedule_id")
    job = django_filters.CharFilter()
    stat_date = django_filters.DateFilter()
    backfill = RowFilter(field_name="backfill_id")
    rerun_of = RowFilter(field_name="rerun_of_id")
    due_since = InstantFilter(field_name="due_at", lookup_expr="gte")
    due_before = InstantFilter(field_name="due_at", lookup_expr="lt")
    waits_for = django_filters.CharFilter(method="by_quota", label="The key of a quota, or of one that it is part of.")

    def by_quota(self, rows: QuerySet[TaskRun], name: str, value: str) -> QuerySet[TaskRun]:
        """Return the paused runs that wait for a quota, or for one that is part of it."""
        quota: Any = Quota.objects.filter(key=value).first()
        if quota is None:
            return rows.none()
        return rows.filter(state=RunState.PAUSED, pk__in=waiting_below(quota.pk).values("run"))

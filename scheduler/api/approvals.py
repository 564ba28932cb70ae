"""Approvals: what runs asked, and what was answered. A run is answered at its own address."""

import django_filters

from project.kit.api.filtering import RowFilter, ShowFilter
from project.kit.api.resources import Resource
from project.kit.api.serializers import RowSerializer
from scheduler.admin.questions import APPROVAL_QUESTIONS
from scheduler.models import Approval


class ApprovalSerializer(RowSerializer):
    """A question of a run, and the answer."""

    class Meta:
        model = Approval
        fields = ("id", "run", "segment", "question", "asked_at", "answer", "answered_at", "answered_by", "why")


class ApprovalFilters(django_filters.FilterSet):
    """By the run, and by whether it was answered."""

    show = ShowFilter(APPROVAL_QUESTIONS)
    run = RowFilter(field_name="run_id")
    answer = django_filters.ChoiceFilter(choices=Approval.Answer.choices)


class Approvals(Resource):
    """What runs asked, and what was answered."""

    queryset = Approval.objects.all()
    serializer_class = ApprovalSerializer
    filterset_class = ApprovalFilters

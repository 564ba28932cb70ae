"""Provider reports: what providers said about their own limits."""

import django_filters
from rest_framework import serializers

from project.kit.api.filtering import RowFilter
from project.kit.api.resources import Resource
from project.kit.api.serializers import RowSerializer
from quotas.models import ProviderReport


class ProviderReportSerializer(RowSerializer):
    """A provider's report."""

    quota_key = serializers.CharField(source="quota.key")

    class Meta:
        model = ProviderReport
        fields = read_only_fields = (
            *("id", "quota", "quota_key", "at", "limited", "status", "limit", "remaining", "resets_at", "retry_at"),
            "doubts",
        )
        extra_kwargs = {
            "limited": {"help_text": "Whether it refused."},
            "doubts": {"help_text": "What of it made no sense, and was not believed."},
        }


class ReportFilters(django_filters.FilterSet):
    """By the quota, and whether it refused."""

    quota = RowFilter(field_name="quota_id")
    limited = django_filters.BooleanFilter()


class Reports(Resource):
    """What providers said about their own limits."""

    queryset = ProviderReport.objects.select_related("quota")
    serializer_class = ProviderReportSerializer
    filterset_class = ReportFilters

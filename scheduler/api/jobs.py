"""Jobs: what can be run, and what each of them takes."""

from typing import Any

from drf_spectacular.utils import extend_schema, extend_schema_serializer
from rest_framework import serializers
from rest_framework.exceptions import NotFound
from rest_framework.request import Request
from rest_framework.response import Response

from project.kit.api.resources import Resource
from scheduler.jobs.registry import JOBS
from scheduler.models import Schedule


class JobSerializer(serializers.Serializer[Any]):
    """A job."""

    key = serializers.CharField()
    title = serializers.CharField()
    resumable = serializers.BooleanField(help_text="It goes on at its checkpoint. False: it starts again.")
    short = serializers.BooleanField(help_text="It usually ends within a second.")
    timeout_seconds = serializers.IntegerField(allow_null=True, help_text="Where the schedule does not say.")
    schema = serializers.DictField(help_text="The JSON schema of its parameters. Empty: it takes whatever it is given.")


@extend_schema_serializer(many=False)
class JobsSerializer(serializers.Serializer[Any]):
    """All jobs, on one page."""

    next = serializers.CharField(allow_null=True)
    previous = serializers.CharField(allow_null=True)
    results = JobSerializer(many=True)


class Jobs(Resource):
    """What can be run: the jobs that are registered here."""

    queryset = Schedule.objects.none()
    serializer_class = JobSerializer
    governed_by = Schedule
    lookup_value_converter = "str"
    pagination_class = None
    filter_backends = ()

    @extend_schema(responses=JobsSerializer)
    def list(self, request: Request) -> Response:
        """Tell all jobs."""
        jobs = [JOBS[key] for key in sorted(JOBS)]
        return Response(JobsSerializer({"next": None, "previous": None, "results": jobs}).data)

    def retrieve(self, request: Request, pk: str) -> Response:
        """Tell of one job."""
        if pk not in JOBS:
            raise NotFound
        return Response(JobSerializer(JOBS[pk]).data)

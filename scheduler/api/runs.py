"""Runs: the list, each one with why it stands where it does, and what a person can do with it."""

from typing import Any

from django.contrib.admin.models import ADDITION
from django.db import transaction
from django.db.models import QuerySet
from django.utils.translation import gettext as _
from drf_spectacular.utils import extend_schema
from rest_framework.decorators import action
from rest_framework.request import Request
from rest_framework.response import Response

from project.kit.api.idempotency import answered_once
from project.kit.api.offering import offered
from project.kit.api.resources import Resource
from project.kit.clock import database_now
from scheduler.admin.run_actions import (
    APPROVE,
    CANCEL,
    GIVE_UP,
    LET_GO_ON,
    REJECT,
    RETRY_NOW,
    RUN_AGAIN_FROM_NOTHING,
    RUN_AGAIN_FROM_PROGRESS,
)
from scheduler.admin.run_putting_off import PUT_OFF
from scheduler.admin.run_resuming import RESUME
from scheduler.api.history import AttemptWithOutputSerializer, EventSerializer
from scheduler.api.job_params import demand_for_commands
from scheduler.api.run_filters import RunFilters
from scheduler.api.run_serializers import HEAVY, RunSerializer, RunWithStandingSerializer
from scheduler.api.starting import StartSerializer, start
from scheduler.models import TaskRun


class Runs(Resource):
    """Pieces of work, each for one data day."""

    queryset = TaskRun.objects.all()
    serializer_class = RunSerializer
    detail_serializer_class = RunWithStandingSerializer
    filterset_class = RunFilters

    approve = offered(APPROVE)
    reject = offered(REJECT)
    resume = offered(RESUME)
    go_on = offered(LET_GO_ON)
    give_up = offered(GIVE_UP)
    retry = offered(RETRY_NOW)
    put_off = offered(PUT_OFF)
    again_from_progress = offered(RUN_AGAIN_FROM_PROGRESS, opens=RunSerializer)
    again_from_nothing = offered(RUN_AGAIN_FROM_NOTHING, opens=RunSerializer)
    cancel = offered(CANCEL)

    def get_queryset(self) -> QuerySet[TaskRun]:
        """Return the runs; only one alone with what weighs much."""
        rows: QuerySet[TaskRun] = super().get_queryset()
        return rows.select_related("schedule", "quota") if self.action == "retrieve" else rows.defer(*HEAVY)

    @extend_schema(request=StartSerializer, responses={201: RunSerializer})
    @answered_once()
    def create(self, request: Request) -> Response:
        """Run a job now, without a schedule, side by side with whatever runs."""
        said = StartSerializer(data=request.data)
        said.is_valid(raise_exception=True)
        demand_for_commands(request, [said.validated_data["job"]])
        with transaction.atomic():
            run = start(said.validated_data, actor=request.user.get_username(), now=database_now())
            self.audit(run, ADDITION, _("Started through the API."))
        return Response(self.shown(run.pk), status=201)

    @extend_schema(responses=EventSerializer(many=True))
    @action(detail=True, filterset_class=None)
    def events(self, request: Request, pk: int) -> Response:
        """Tell the transitions of the run."""
        return self._page(self.get_object().events.all(), EventSerializer)

    @extend_schema(responses=AttemptWithOutputSerializer(many=True))
    @action(detail=True, filterset_class=None)
    def attempts(self, request: Request, pk: int) -> Response:
        """Tell the executions of the run, each with what it wrote."""
        return self._page(self.get_object().attempts.all(), AttemptWithOutputSerializer)

    def _page(self, rows: QuerySet[Any], serializer_class: Any) -> Response:
        page = self.paginate_queryset(super(Resource, self).filter_queryset(rows))  # as a list, which it is here
        return self.get_paginated_response(serializer_class(page, many=True).data)

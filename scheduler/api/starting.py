"""Starts a job without a schedule."""

from datetime import datetime
from typing import Any

from django.conf import settings
from rest_framework import serializers
from rest_framework.exceptions import ValidationError

from scheduler import operations
from scheduler.api.job_params import ParamsField, restored
from scheduler.jobs.registry import BadParams, UnknownJob, get_job
from scheduler.models import TaskRun
from scheduler.states import EventTrigger


class StartSerializer(serializers.Serializer[Any]):
    """A job that is to run."""

    job = serializers.CharField(max_length=200, help_text="The key of a job: see `jobs`.")
    params = ParamsField(default=dict, help_text="What it takes.")
    stat_date = serializers.DateField(allow_null=True, default=None, help_text="The data day. Null: today.")


def start(said: dict[str, Any], *, actor: str, now: datetime) -> TaskRun:
    """Open a run that is due now.

    Raises:
        ValidationError: there is no such job, or its parameters do not fit.
    """
    job, params = said["job"], restored(said["job"], said["params"], {})
    try:
        get_job(job).read_params(params)
    except UnknownJob as error:
        raise ValidationError({"job": str(error)}) from error
    except BadParams as error:
        raise ValidationError({"params": str(error)}) from error
    return operations.run_job(
        job,
        params,
        now=now,
        actor=actor,
        zone=settings.TIME_ZONE,
        stat_date=said["stat_date"],
        trigger=EventTrigger.API,
    )

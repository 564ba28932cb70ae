"""Parameters of jobs over HTTP: secrets are dots, and a job that runs shell commands wants a permission of its own."""

from collections.abc import Iterable
from typing import Any

from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy
from drf_spectacular.utils import extend_schema_field
from rest_framework import serializers
from rest_framework.exceptions import ValidationError
from rest_framework.request import Request

from project.kit.api.permissions import demand
from scheduler.admin.schedule_form import COMMAND
from scheduler.admin.secret_params import masked, unmasked


@extend_schema_field({"type": "object", "additionalProperties": True})
class ParamsField(serializers.JSONField):
    """A JSON object; what the job takes is told by its schema."""

    default_error_messages = {
        "not_an_object": gettext_lazy("The parameters are a JSON object, for example {{}}."),
        "invalid": gettext_lazy("It holds a number that JSON does not have."),
    }

    def to_internal_value(self, data: Any) -> Any:
        """Return the object.

        Raises:
            ValidationError: it is none.
        """
        if not isinstance(data, dict):
            self.fail("not_an_object")
        return super().to_internal_value(data)


def restored(job: str, params: dict[str, Any], stored: dict[str, Any]) -> dict[str, Any]:
    """Return the parameters with the stored secrets where dots were sent back.

    Raises:
        ValidationError: dots stand where nothing is stored.
    """
    kept: dict[str, Any] = unmasked(job, params, stored)
    if masked(job, kept) != masked(job, params):
        raise ValidationError({"params": _("Write the secret itself: the dots only stand for it.")})
    return kept


def demand_for_commands(request: Request, jobs: Iterable[str]) -> None:
    """Ask for the permission that shell commands want, where one of the jobs runs them.

    Raises:
        PermissionDenied: the user, or the token, may not do this.
    """
    if COMMAND in jobs:
        demand(request, ("scheduler.use_command_job",))

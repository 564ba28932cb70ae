"""Reads what stands behind the question mark of an address that is no list."""

from typing import Any

from django.utils.translation import gettext as _
from rest_framework import serializers
from rest_framework.exceptions import ValidationError
from rest_framework.request import Request


def read(request: Request, serializer_class: type[serializers.BaseSerializer[Any]]) -> dict[str, Any]:
    """Return the parameters that were given, and no default of others.

    Raises:
        ValidationError: one is not known, or its value is wrong.
    """
    said = serializer_class(data=request.query_params.dict(), partial=True)
    known = said.fields  # type: ignore[attr-defined]
    for name in request.query_params:
        if name not in known:
            there_are = ", ".join(sorted(known))
            raise ValidationError({name: _("There is no such parameter. There are: %s.") % there_are})
    said.is_valid(raise_exception=True)
    values: dict[str, Any] = said.validated_data
    return values

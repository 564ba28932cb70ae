"""Rows with a `version`: a read tells it as the ETag, and a change says with If-Match on which one it is based."""

import re
from typing import Any

from django.utils.translation import gettext as _
from rest_framework.exceptions import ValidationError
from rest_framework.request import Request

from project.kit.api.problems import PreconditionRequired

_TAG = re.compile(r'"([0-9]{1,9})"')


def etag(shown: Any) -> str | None:
    """Return the tag of a row as the API shows it; None: it is no row with a version."""
    version = shown.get("version") if isinstance(shown, dict) else None
    return None if version is None else f'"{version}"'


def expected_version(request: Request) -> int:
    """Return the version that the request expects to change.

    Raises:
        PreconditionRequired: it says none.
        ValidationError: what it says is none.
    """
    said = request.headers.get("If-Match")
    if said is None:
        raise PreconditionRequired(_("Say which version you change: send the ETag that you read as “If-Match”."))
    tag = _TAG.fullmatch(said.strip())
    if tag is None:
        raise ValidationError({"If-Match": _('Send the ETag as it was read, with its quotes: If-Match: "3".')})
    return int(tag[1])

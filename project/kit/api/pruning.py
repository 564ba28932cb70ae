"""What of the API's rows goes, and when."""

from datetime import datetime

from django.db.models import Q

from project.kit.api.models import ApiToken, IdempotentRequest
from project.kit.pruning import Kind


def _answered(before: datetime) -> Q:
    """Of a request that was never answered nobody knows what came of it: its key is not free."""
    return Q(created_at__lt=before, status__isnull=False)


def _useless(before: datetime) -> Q:
    return Q(expires_at__lt=before) | Q(revoked_at__lt=before)


KINDS = (
    Kind("api_requests", IdempotentRequest, "created_at", _answered),
    Kind("api_tokens", ApiToken, "created_at", _useless),
)

"""`/metrics`, and who may read it: Prometheus with the token of the settings, any program with a token for looking, and
whoever is logged in and may look at all of it.
"""

from typing import Any

from django.conf import settings
from django.db import DatabaseError
from django.http import HttpResponse
from django.utils.crypto import constant_time_compare
from django.utils.translation import gettext as _
from drf_spectacular.utils import extend_schema
from prometheus_client.exposition import choose_encoder
from rest_framework.request import Request
from rest_framework.views import APIView

from project.kit.api.authentication import BearerAuthentication, PanelSession
from project.kit.api.problems import Unavailable
from project.kit.api.resources import AlwaysJson
from project.metrics.collecting import Scrape

# What the figures are of.
NEEDED = (
    "scheduler.view_schedule",
    "scheduler.view_taskrun",
    "quotas.view_quota",
    "alerts.view_alert",
    "polling.view_carrieraccount",
)


class Scraper:
    """Whoever knows the token of the settings; no user, and may do nothing but read the metrics."""

    pk = None
    is_active = is_authenticated = True

    def has_perm(self, permission: str) -> bool:
        """Tell whether the metrics need the permission."""
        return permission in NEEDED


class ScrapeToken(BearerAuthentication):
    """Takes the token of the settings, without asking the database for it, beside those of the API."""

    def authenticate(self, request: Request) -> tuple[Any, Any] | None:
        """As those of the API."""
        said, expected = request.headers.get("Authorization", ""), settings.TIDELINE_METRICS_TOKEN
        if expected and constant_time_compare(said, f"Bearer {expected}"):
            return Scraper(), None
        # Those of the API open more than the metrics, and are not taken where anybody on the way could read them.
        return super().authenticate(request) if request.is_secure() or settings.PLAIN_HTTP else None


class Metrics(APIView):
    """The figures in the format that was asked for: Prometheus's own, or OpenMetrics."""

    authentication_classes = [ScrapeToken, PanelSession]
    content_negotiation_class = AlwaysJson

    def needed_permissions(self) -> list[tuple[str, ...]]:
        """Return what the caller needs: all of these."""
        return [(permission,) for permission in NEEDED]

    @extend_schema(exclude=True)
    def get(self, request: Request) -> HttpResponse:
        """Answer a scrape.

        Raises:
            Unavailable: the database is away.
        """
        encoded, content_type = choose_encoder(request.headers.get("Accept", ""))
        try:
            return HttpResponse(encoded(Scrape()), content_type=content_type)
        except DatabaseError:
            raise Unavailable(_("The database cannot be reached.")) from None

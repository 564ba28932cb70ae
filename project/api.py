"""The HTTP API: which resources there are, where it describes itself, and what is answered where nothing is."""

from typing import Any

from csp.decorators import csp_update
from django.contrib import admin
from django.urls import URLPattern, URLResolver, path, re_path
from drf_spectacular.utils import extend_schema
from drf_spectacular.views import SpectacularAPIView, SpectacularSwaggerSplitView
from rest_framework.exceptions import NotFound
from rest_framework.permissions import AllowAny
from rest_framework.request import Request
from rest_framework.routers import SimpleRouter
from rest_framework.views import APIView

import alerts.api
import project.resources
import quotas.api
import scheduler.api
import scheduler.polling.api
from project.kit.api.resources import AlwaysJson

RESOURCES = {
    **project.resources.RESOURCES,
    **alerts.api.RESOURCES,
    **quotas.api.RESOURCES,
    **scheduler.api.RESOURCES,
    **scheduler.polling.api.RESOURCES,
}


@extend_schema(exclude=True)
class Nowhere(APIView):
    """Says that there is nothing, as a problem document like any other."""

    content_negotiation_class = AlwaysJson
    permission_classes = [AllowAny]

    def initial(self, request: Request, *args: Any, **kwargs: Any) -> None:
        """Refuse, whatever the method.

        Raises:
            NotFound: always.
        """
        raise NotFound


def _routes() -> list[URLPattern | URLResolver]:
    router = SimpleRouter(use_regex_path=False)
    for name, resource in RESOURCES.items():
        router.register(name, resource, basename=name)
    return router.urls


# Its library writes styles into the page, which ours never do.
_page = csp_update({"style-src": ["'unsafe-inline'"]})(SpectacularSwaggerSplitView.as_view(url_name="api-schema"))

urlpatterns = [
    path("", admin.site.admin_view(_page), name="api"),
    path("schema/", SpectacularAPIView.as_view(), name="api-schema"),
    *_routes(),
    re_path("", Nowhere.as_view()),
]

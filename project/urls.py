"""Where the pages are."""

from django.conf import settings
from django.contrib import admin
from django.urls import include, path
from django.views.generic import RedirectView
from django.views.i18n import set_language

from project.health import healthz, readyz
from project.inbox import inbox
from project.metrics.views import Metrics

urlpatterns = [
    path("", RedirectView.as_view(pattern_name="admin:index")),
    path("admin/", admin.site.urls),
    path("api/", include("project.api")),
    path("language", set_language, name="set_language"),
    path("healthz", healthz, name="healthz"),
    path("readyz", readyz, name="readyz"),
    path("metrics", Metrics.as_view(), name="metrics"),
]
if settings.TIDELINE_INBOX_URL:
    urlpatterns.append(path("inbox/", inbox, name="inbox"))

"""The control panel's site."""

from typing import Any

from django.contrib.admin import AdminSite
from django.http import HttpRequest
from django.template.response import TemplateResponse
from django.utils.translation import gettext_lazy as _


class TidelineAdminSite(AdminSite):
    """The Django admin under Tideline's name, with a home page of its own."""

    site_title = _("Tideline")
    site_header = _("Tideline")
    index_title = _("Control panel")
    site_url = None

    def index(self, request: HttpRequest, extra_context: dict[str, Any] | None = None) -> TemplateResponse:
        """Show the home page."""
        from project.dashboard import home  # the site is made before the models are loaded

        return super().index(request, {"home": home(request), **(extra_context or {})})

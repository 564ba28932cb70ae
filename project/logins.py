"""Who tries to log in, for the limit of wrong passwords (django-axes), and what is answered past that limit."""

from typing import Any

from django.conf import settings
from django.contrib import admin
from django.http import HttpRequest, HttpResponse
from django.shortcuts import render
from django.utils.translation import gettext as _


def address_of(request: HttpRequest) -> str:
    """Return the address that the request came from: as the proxy in front says it, where there is one.

    Only the last address counts, which the proxy itself has written; those before it may be anybody's invention.
    """
    if settings.SECURE_PROXY_SSL_HEADER is not None and (forwarded := request.headers.get("X-Forwarded-For")):
        return forwarded.rpartition(",")[2].strip()
    return str(request.META.get("REMOTE_ADDR", ""))


def refused(request: HttpRequest, response: HttpResponse, credentials: dict[str, Any] | None) -> HttpResponse:
    """Answer whoever has said too many wrong passwords: when to come again, in the place of the login."""
    minutes = settings.AXES_COOLOFF_TIME.total_seconds() / 60
    message = _("Too many wrong passwords. Try again in %(minutes)d minutes.") % {"minutes": minutes}
    frame = admin.site.each_context(request)
    return render(request, "admin/refused_login.html", {**frame, "message": message}, status=429)

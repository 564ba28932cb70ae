"""The viewer's zone: the browser names it in a cookie, and pages show instants by its clocks."""

from collections.abc import Callable
from zoneinfo import ZoneInfo

from django.http import HttpRequest, HttpResponse
from django.utils import timezone

from project.kit.wall_clocks import zone_names

COOKIE = "tideline_zone"  # written by project/static/tideline/admin.js


class ViewerZone:
    """Middleware: a request is answered by the clocks of its viewer, where the browser named a zone that exists."""

    def __init__(self, get_response: Callable[[HttpRequest], HttpResponse]) -> None:
        self.get_response = get_response

    def __call__(self, request: HttpRequest) -> HttpResponse:
        """Answer the request in its viewer's zone, and leave none behind for the next one."""
        with timezone.override(_zone(request.COOKIES.get(COOKIE, ""))):
            return self.get_response(request)


def _zone(name: str) -> ZoneInfo | None:
    return ZoneInfo(name) if name in zone_names() else None

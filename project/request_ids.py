"""Each request has an id, which the log and the answer name: that of the proxy in front, or a new one."""

import re
import uuid
from collections.abc import Callable

from django.http import HttpRequest, HttpResponse
from structlog.contextvars import bound_contextvars

HEADER = "X-Request-ID"
_USABLE = re.compile(r"[A-Za-z0-9._-]{1,64}")


class RequestIds:
    """Middleware: what is logged while a request is answered has its `request_id`, and the answer says it."""

    def __init__(self, get_response: Callable[[HttpRequest], HttpResponse]) -> None:
        self.get_response = get_response

    def __call__(self, request: HttpRequest) -> HttpResponse:
        """Answer the request."""
        name = id_of(request)
        with bound_contextvars(request_id=name):
            response = self.get_response(request)
        response.headers[HEADER] = name
        return response


def id_of(request: HttpRequest) -> str:
    """Return the id that the request came with, if it is one, or a new one."""
    came_with = request.headers.get(HEADER, "")
    return came_with if _USABLE.fullmatch(came_with) else uuid.uuid4().hex

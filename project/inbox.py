"""The inbox of the try-out: a page that is sent alerts as any receiver of Standard Webhooks is, so that a newcomer sees
one arrive without an account anywhere. It is there only where TIDELINE_INBOX_URL says so; `bin/up` does.
"""

import hmac
from collections.abc import Mapping
from datetime import UTC, datetime, timedelta
from http import HTTPStatus
from typing import Annotated, Any

from django.conf import settings
from django.contrib import admin
from django.contrib.auth.decorators import permission_required
from django.http import HttpRequest, HttpResponse
from django.template.response import TemplateResponse
from django.utils.safestring import SafeString
from django.utils.translation import gettext_lazy as _
from django.views.decorators.csrf import csrf_exempt
from django.views.decorators.http import require_http_methods
from pydantic import AfterValidator, BaseModel, Field, ValidationError

from alerts.admin.cells import SEVERITY_COLOURS, TELLING_COLOURS
from alerts.channels.generic import signed_headers
from alerts.channels.text import clean, link
from alerts.states import Severity, Telling
from project.kit.admin import badge, when
from project.kit.clock import database_now
from project.models import InboxMessage

LARGEST_BODY = 64 * 1024
KEPT = 100
# So far from now a signed message is too old, or from a clock that is wrong.
TOLERANCE = timedelta(minutes=5)
REFRESH_SECONDS = 5

Text = Annotated[str, AfterValidator(clean)]


class Alert(BaseModel):
    """What is read of a message; all else that it holds is not shown."""

    id: Annotated[str, Field(min_length=1, max_length=100), AfterValidator(clean)]
    telling: Telling
    severity: Severity
    title: Text
    text: Text
    url: Text = ""


class Posted(BaseModel):
    """The body of a message."""

    data: Alert


@csrf_exempt  # whoever posts has no session: the signature says who it is
@require_http_methods(["GET", "HEAD", "POST"])
def inbox(request: HttpRequest) -> HttpResponse:
    """Take a message, or show those that were taken."""
    if request.method == "POST":
        return _receive(request, database_now())
    response: HttpResponse = admin.site.admin_view(_show)(request)
    return response


# --- taking one ------------------------------------------------------------------------------------------------


def _receive(request: HttpRequest, now: datetime) -> HttpResponse:
    body = request.read(LARGEST_BODY + 1)
    if len(body) > LARGEST_BODY:
        return _answer(HTTPStatus.REQUEST_ENTITY_TOO_LARGE, f"A message has at most {LARGEST_BODY:,} bytes.")
    if not is_signed(request.headers, body, settings.TIDELINE_INBOX_SECRET, now=now):
        return _answer(HTTPStatus.UNAUTHORIZED, "The signature is missing, wrong or too old.")
    try:
        alert = Posted.model_validate_json(body).data
    except ValidationError:
        return _answer(HTTPStatus.BAD_REQUEST, "The body is no alert of Tideline.")
    keep(alert, now)
    return _answer(HTTPStatus.OK, "Taken.")


def is_signed(headers: Mapping[str, str], body: bytes, secret: str, *, now: datetime) -> bool:
    """Tell whether the message was signed with the secret, as Standard Webhooks asks, and lately."""
    event_id, timestamp = headers.get("webhook-id", ""), headers.get("webhook-timestamp", "")
    if not secret or "." in event_id or not (timestamp.isascii() and timestamp.isdigit() and len(timestamp) <= 10):
        return False
    signed_at = datetime.fromtimestamp(int(timestamp), UTC)
    if abs(now - signed_at) > TOLERANCE:
        return False
    expected = signed_headers(event_id, body, [secret], now=signed_at)["webhook-signature"].encode()
    signatures = headers.get("webhook-signature", "").encode().split()
    return any(hmac.compare_digest(signature, expected) for signature in signatures)


def keep(alert: Alert, now: datetime) -> None:
    """Keep the message among the latest; one that comes again is the same."""
    InboxMessage.objects.get_or_create(
        event_id=alert.id, defaults={"received_at": now, **alert.model_dump(exclude={"id"})}
    )
    older = InboxMessage.objects.order_by("-pk").values_list("pk", flat=True)[KEPT:]
    InboxMessage.objects.filter(pk__in=list(older)).delete()


def _answer(status: HTTPStatus, sentence: str) -> HttpResponse:
    return HttpResponse(sentence, status=status, content_type="text/plain; charset=utf-8")


# --- showing them ----------------------------------------------------------------------------------------------


@permission_required("alerts.view_alert", raise_exception=True)
def _show(request: HttpRequest) -> TemplateResponse:
    now = database_now()
    messages = [_line(message, now) for message in InboxMessage.objects.order_by("-pk")[:KEPT]]
    shown = {"inbox": messages, "refresh_seconds": REFRESH_SECONDS}
    if "fragment" in request.GET:
        return TemplateResponse(request, "inbox/messages.html", shown)
    context = {**admin.site.each_context(request), "title": _("Inbox of this try-out"), **shown}
    return TemplateResponse(request, "inbox/page.html", context)


def _line(message: InboxMessage, now: datetime) -> dict[str, Any]:
    return {
        "at": when(message.received_at, now),
        "telling": _badge(Telling(message.telling), TELLING_COLOURS),
        "severity": _badge(Severity(message.severity), SEVERITY_COLOURS),
        "title": message.title,
        "text": message.text,
        "url": link(message.url),
    }


def _badge(word: Telling | Severity, colours: Mapping[Any, str]) -> SafeString:
    return badge(word.label, colours[word])

"""The job `http`: one request, judged by its status."""

import codecs
import json
import re
from datetime import datetime, timedelta
from typing import Any, Literal
from urllib.parse import quote, urlsplit

import httpx
from django.utils.translation import gettext
from django.utils.translation import gettext_noop as _
from pydantic import Field, SecretStr, field_validator

from project.kit.clock import database_now
from project.kit.outbound import retry_after
from project.kit.reasons import innermost_reason
from scheduler.jobs.context import RunContext
from scheduler.jobs.exchange import Answer, Exchange, Request
from scheduler.jobs.interrupts import JobFailed
from scheduler.jobs.output import KEPT_BYTES
from scheduler.jobs.params import Params, refusal, without_nul
from scheduler.jobs.patience import Patience
from scheduler.jobs.registry import job
from scheduler.jobs.template import fill, without_placeholders

LOOK_SECONDS = 0.25
# The line with the status stays in what is kept of the output.
BODY_BYTES = KEPT_BYTES - 1024
SHORTEST_WAIT = timedelta(seconds=1)
LONGEST_WAIT = timedelta(days=1)
ASKS_TO_WAIT = (429, 503)
HEADER_NAME = re.compile(r"[!#$%&'*+.^_`|~0-9A-Za-z-]+")
OUR_OWN_HEADERS = ("content-length", "transfer-encoding", "connection")
STATUS_RANGE = re.compile(r"([1-5]\d\d)(?:-([1-5]\d\d))?")
TEXT_TYPES = re.compile(r"text/|.*[/+](json|xml|javascript|x-www-form-urlencoded|yaml)\b|$", re.IGNORECASE)


class HttpParams(Params):
    """Whom to ask, what, and which answer is right."""

    method: Literal["GET", "POST", "PUT", "PATCH", "DELETE", "HEAD", "OPTIONS"] = Field(
        "GET", title=_("Method"), description=_("The request's method.")
    )
    url: str = Field(
        title=_("URL"),
        description=_(
            "http or https. {{ stat_date }}, {{ planned_at }} and {{ run_id }} are replaced here, in the headers and in"
            " the body."
        ),
    )
    headers: dict[str, SecretStr] = Field(
        default_factory=dict, title=_("Headers"), description=_("Names and values; the values are kept from view.")
    )
    body: str | None = Field(
        None,
        title=_("Body"),
        description=_(
            "Sent as it is, save for the placeholders; as application/json if it is that and no header says."
        ),
    )
    expected_status: list[int | str] = Field(
        ["200-299"],
        title=_("Expected status"),
        description=_("Statuses and ranges that count as done, for example 200, 404 or 200-299."),
        min_length=1,
    )
    timeout_seconds: float = Field(
        30, title=_("Timeout in seconds"), description=_("For the whole exchange."), gt=0, le=3600
    )
    follow_redirects: bool = Field(
        False, title=_("Follow redirects"), description=_("Your headers go to the same server only.")
    )
    idempotency_key: bool = Field(
        True,
        title=_("Idempotency key"),
        description=_("Send an Idempotency-Key header that is the same whenever this run asks again."),
    )

    @field_validator("url")
    @classmethod
    def _is_a_web_address(cls, url: str) -> str:
        try:
            address = httpx.URL(without_placeholders(url))
        except httpx.InvalidURL:
            raise refusal(gettext("It cannot be read as a URL; it looks like https://example.com/path")) from None
        if address.scheme not in ("http", "https") or not address.host:
            raise refusal(gettext("It must begin with http:// or https:// and name a host"))
        return url

    @field_validator("headers")
    @classmethod
    def _can_be_sent(cls, headers: dict[str, SecretStr]) -> dict[str, SecretStr]:
        for name, value in headers.items():
            if not HEADER_NAME.fullmatch(name):
                raise refusal(gettext("“%(name)s” cannot be the name of a header") % {"name": name})
            if name.lower() in OUR_OWN_HEADERS:
                raise refusal(
                    gettext("The header %(name)s is set from the request itself; leave it out") % {"name": name}
                )
            if not value.get_secret_value().isascii() or not value.get_secret_value().isprintable():
                raise refusal(
                    gettext("The value of the header %(name)s must be printable ASCII on one line") % {"name": name}
                )
        return headers

    @field_validator("body")
    @classmethod
    def _has_no_nul(cls, body: str | None) -> str | None:
        return body if body is None else without_nul(body)

    @field_validator("expected_status")
    @classmethod
    def _are_statuses(cls, expected: list[int | str]) -> list[int | str]:
        for status in expected:
            found = STATUS_RANGE.fullmatch(str(status))
            if found is None or (found[2] or found[1]) < found[1]:
                raise refusal(gettext("A status is a number from 100 to 599 or a range such as 200-299"))
        return expected


@job("http", title=_("HTTP request"), params=HttpParams)
def http(context: RunContext) -> dict[str, Any]:
    """Ask, keep the answer, and judge it by its status."""
    answer = _ask(context)
    context.log(f"{context.params.method} {_server(context)}: {_status(answer)} in {answer.seconds:.2f} s")
    context.log(_shown(answer))
    _judge(context, answer)
    return {"status": answer.status, "seconds": round(answer.seconds, 3)}


def _ask(context: RunContext) -> Answer:
    server = _server(context)
    try:
        return _exchange(context, _request(context))
    except (TimeoutError, httpx.TimeoutException):
        raise JobFailed(f"{server} did not answer within {context.params.timeout_seconds:g} s.") from None
    except httpx.ConnectError as error:
        raise JobFailed(f"{server} cannot be reached: {innermost_reason(error)}.") from None
    except httpx.TooManyRedirects:
        raise JobFailed(f"{server} redirects again and again.") from None
    except (httpx.UnsupportedProtocol, httpx.InvalidURL):
        raise JobFailed(f"{server} redirects to something that is no web address.") from None
    except httpx.HTTPError as error:
        raise JobFailed(f"{server} broke off the exchange ({type(error).__name__}).") from None


def _exchange(context: RunContext, request: Request) -> Answer:
    patience = Patience(context)
    exchange = Exchange(request)
    try:
        while (answer := exchange.wait(LOOK_SECONDS)) is None:
            patience.check()
        return answer
    finally:
        exchange.abandon()


def _request(context: RunContext) -> Request:
    params: HttpParams = context.params
    body = None if params.body is None else fill(params.body, context).encode()
    return Request(
        method=params.method,
        url=fill(params.url, context, lambda value: quote(value, safe="")),
        headers=_headers(context, body),
        body=body,
        timeout_seconds=params.timeout_seconds,
        follow_redirects=params.follow_redirects,
        most_bytes=BODY_BYTES,
    )


def _headers(context: RunContext, body: bytes | None) -> dict[str, str]:
    """Return what is sent: the parameters' headers over ours."""
    params: HttpParams = context.params
    ours = {"User-Agent": "tideline", "Accept-Encoding": "identity"}  # what was asked for is shown, so it stays small
    if params.idempotency_key:
        ours["Idempotency-Key"] = context.key
    if body is not None:
        ours["Content-Type"] = "application/json" if _is_json(body) else "text/plain; charset=utf-8"
    given = {name: fill(value.get_secret_value(), context) for name, value in params.headers.items()}
    overruled = {name.lower() for name in given}
    return {name: value for name, value in ours.items() if name.lower() not in overruled} | given


def _is_json(body: bytes) -> bool:
    try:
        json.loads(body)
    except ValueError:
        return False
    return True


# --- the answer ------------------------------------------------------------------------------------------------


def _judge(context: RunContext, answer: Answer) -> None:
    params: HttpParams = context.params
    if any(_covers(str(expected), answer.status) for expected in params.expected_status):
        return
    server = _server(context)
    if answer.status in ASKS_TO_WAIT:
        wait = asked_wait(answer.headers, database_now())
        if wait is not None:
            seconds = wait.total_seconds()
            context.defer(seconds=seconds, reason=f"{server} answered {_status(answer)}: asked again in {seconds:g} s.")
    wanted = ", ".join(str(expected) for expected in params.expected_status)
    hint = " Redirects are not followed." if answer.status in (301, 302, 303, 307, 308) else ""
    raise JobFailed(f"{server} answered {_status(answer)}; expected was {wanted}.{hint}")


def asked_wait(headers: httpx.Headers, now: datetime) -> timedelta | None:
    """Return how long the server asks to wait, from a second to a day; None where it does not say that.

    A date is compared with the server's own clock where it shows that.
    """
    seconds = retry_after(headers, now=now)
    return None if seconds is None else min(max(timedelta(seconds=seconds), SHORTEST_WAIT), LONGEST_WAIT)


def _covers(expected: str, status: int) -> bool:
    first, _, last = expected.partition("-")
    return int(first) <= status <= int(last or first)


def _status(answer: Answer) -> str:
    return f"{answer.status} {answer.reason}".rstrip()


def _shown(answer: Answer) -> str:
    """Return the body as text, without half a character at the cut."""
    kind = answer.headers.get("content-type", "")
    if not TEXT_TYPES.match(kind):
        return f"[{len(answer.body)}{'+' if answer.cut else ''} bytes of {kind.partition(';')[0]} are not shown]"
    text = codecs.getincrementaldecoder(answer.encoding)("replace").decode(answer.body, final=not answer.cut)
    return f"{text}\n[the rest was not read]" if answer.cut else text


# --- what may be said about it ---------------------------------------------------------------------------------


def _server(context: RunContext) -> str:
    """Return the address without what may be secret: user, path (webhooks have their key there) and query."""
    address = urlsplit(without_placeholders(context.params.url))
    return f"{address.scheme}://{address.netloc.rpartition('@')[2]}"

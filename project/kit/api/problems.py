"""Every error is a problem document (RFC 9457) whose `detail` is a sentence for people.

Refusals that are ours are raised as the exceptions below; what others raise is put into our own words, because theirs
show the names and values of Python.
"""

import logging
from collections.abc import Callable, Iterator, Mapping
from http import HTTPStatus
from typing import Any

from django.core import exceptions as django
from django.core.signals import got_request_exception
from django.http import Http404, HttpResponse
from django.utils.translation import gettext as _
from rest_framework import exceptions, serializers
from rest_framework.renderers import JSONRenderer
from rest_framework.settings import api_settings

CONTENT_TYPE = "application/problem+json"
NOT_OF_A_FIELD = frozenset({api_settings.NON_FIELD_ERRORS_KEY, django.NON_FIELD_ERRORS})

logger = logging.getLogger(__name__)

Context = Mapping[str, Any]


class Conflict(exceptions.APIException):
    """What was asked for does not go with what there is.

    Args:
        current: the row as it is now, as the API shows it.
    """

    status_code = HTTPStatus.CONFLICT

    def __init__(self, sentence: str, current: Mapping[str, Any] | None = None) -> None:
        super().__init__(sentence)
        self.current = current


class PreconditionRequired(exceptions.APIException):
    """A change did not say on which version it is based."""

    status_code = HTTPStatus.PRECONDITION_REQUIRED


class Unprocessable(exceptions.APIException):
    """The request contradicts an earlier one."""

    status_code = HTTPStatus.UNPROCESSABLE_ENTITY


class Unavailable(exceptions.APIException):
    """What is needed for an answer is away for the moment."""

    status_code = HTTPStatus.SERVICE_UNAVAILABLE


class TooLarge(exceptions.APIException):
    """The body is longer than is read."""

    status_code = HTTPStatus.REQUEST_ENTITY_TOO_LARGE


class FieldErrorSerializer(serializers.Serializer[Any]):
    """What is wrong with a field."""

    field = serializers.CharField(help_text="Its name, with dots where it lies within another; empty: none alone.")
    sentence = serializers.CharField()


class ProblemSerializer(serializers.Serializer[Any]):
    """Why a request was refused (RFC 9457)."""

    type = serializers.CharField()
    title = serializers.CharField(help_text="What the status is called.")
    status = serializers.IntegerField()
    detail = serializers.CharField(help_text="A sentence for people: what is wrong and what to do.")
    errors = FieldErrorSerializer(many=True, required=False)  # type: ignore[assignment]  # the field, not the result
    current = serializers.DictField(required=False, help_text="With 409: the row as it is now.")


def problem_response(error: Exception, context: Context) -> HttpResponse:
    """Return the problem document of an error; one that nobody expected is logged, and tells nothing of itself."""
    problem = _as_problem(error)
    if problem is None:
        return _unexpected(error, context)
    document = _document(problem.status_code, _sentence(problem, context))
    if isinstance(problem, exceptions.ValidationError):
        document["errors"] = [{"field": field, "sentence": text} for field, text in _field_errors(problem.detail)]
    if isinstance(problem, Conflict) and problem.current is not None:
        document["current"] = problem.current
    return _respond(document, _headers(problem))


# --- which problem it is ---------------------------------------------------------------------------------------------


def _as_problem(error: Exception) -> exceptions.APIException | None:
    """Return the error as one with a status; None: nobody expected it."""
    if isinstance(error, exceptions.APIException):
        return error
    if isinstance(error, django.ValidationError):
        return exceptions.ValidationError(error.message_dict if hasattr(error, "error_dict") else error.messages)
    return next((known() for kind, known in _OF_DJANGO.items() if isinstance(error, kind)), None)


_OF_DJANGO: Mapping[type[Exception], Callable[[], exceptions.APIException]] = {
    Http404: exceptions.NotFound,
    django.PermissionDenied: exceptions.PermissionDenied,
    django.RequestDataTooBig: lambda: TooLarge(_("The body is too long. Send less at once.")),
    django.SuspiciousOperation: lambda: exceptions.ParseError(_("The request cannot be read.")),
}


def _unexpected(error: Exception, context: Context) -> HttpResponse:
    request = context["request"]
    got_request_exception.send(sender=None, request=request)
    logger.error("%s %s failed", request.method, request.path, exc_info=error)
    sentence = _(
        "Something went wrong here, and it is in the log. Nothing is known of whether it was done: look first."
    )
    return _respond(_document(HTTPStatus.INTERNAL_SERVER_ERROR, sentence), {})


def _respond(document: Mapping[str, Any], headers: Mapping[str, str]) -> HttpResponse:
    """Return the document as JSON, also where a view would have answered with something else."""
    return HttpResponse(JSONRenderer().render(document), CONTENT_TYPE, document["status"], headers=headers)


# --- what it says ----------------------------------------------------------------------------------------------------


def _document(status: int, sentence: str) -> dict[str, Any]:
    return {"type": "about:blank", "title": HTTPStatus(status).phrase, "status": int(status), "detail": sentence}


def _sentence(problem: exceptions.APIException, context: Context) -> str:
    if isinstance(problem, exceptions.ValidationError):
        told = [f"{field}: {text}" if field else text for field, text in _field_errors(problem.detail)]
        return " ".join(told)
    if own := _OWN_WORDS.get(type(problem)):
        return own(problem, context)
    return str(problem.detail)


def _not_found(problem: Any, context: Context) -> str:
    is_usual = problem.detail == exceptions.NotFound.default_detail
    return _("There is nothing under this address.") if is_usual else str(problem.detail)


def _wrong_method(problem: Any, context: Context) -> str:
    methods = [method for method in context["view"].allowed_methods if method not in {"HEAD", "OPTIONS"}]
    return _("This address takes %(methods)s.") % {"methods": ", ".join(methods)}


def _nobody(problem: Any, context: Context) -> str:
    return _("Say who you are: send a token as “Authorization: Bearer …”. Tokens are made in the control panel.")


def _wrong_type(problem: Any, context: Context) -> str:
    return _("Send JSON, and say so: “Content-Type: application/json”.")


def _too_many(problem: Any, context: Context) -> str:
    return _("You ask too often. Ask again in %(seconds)s s.") % {"seconds": int(problem.wait or 1)}


_OWN_WORDS: Mapping[type, Callable[[Any, Context], str]] = {
    exceptions.NotFound: _not_found,
    exceptions.MethodNotAllowed: _wrong_method,
    exceptions.NotAuthenticated: _nobody,
    exceptions.UnsupportedMediaType: _wrong_type,
    exceptions.Throttled: _too_many,
}


def _headers(problem: exceptions.APIException) -> dict[str, str]:
    headers = {}
    if challenge := getattr(problem, "auth_header", None):
        headers["WWW-Authenticate"] = challenge
    if wait := getattr(problem, "wait", None):
        headers["Retry-After"] = str(int(wait))
    return headers


def _field_errors(detail: Any, field: str = "") -> Iterator[tuple[str, str]]:
    """Yield the field and the sentence of each error, of nested fields with dots between."""
    match detail:
        case dict():
            for name, inner in detail.items():
                within = field if name in NOT_OF_A_FIELD else f"{field}.{name}" if field else str(name)
                yield from _field_errors(inner, within)
        case list():
            for number, inner in enumerate(detail):
                is_row = isinstance(inner, dict) and inner
                yield from _field_errors(inner, f"{field}.{number}" if is_row else field)
        case _:
            yield field, str(detail)

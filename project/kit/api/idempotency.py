"""A POST with an `Idempotency-Key` is done once, however often it is sent: the others are answered as the first was.

The key, what it does and its answer are one transaction, so that a crash leaves all of it or nothing, and a second one
that comes at the same time waits for the first. Where a request calls out, no transaction may be open: then the key is
written before, and a second one is refused until the answer is there.
"""

import hashlib
from collections.abc import Callable
from functools import partial, wraps
from typing import Any

from django.db import transaction
from django.http import Http404
from django.utils.translation import gettext as _
from rest_framework.exceptions import APIException, ValidationError
from rest_framework.request import Request
from rest_framework.response import Response

from project.kit.api.models import IdempotentRequest
from project.kit.api.problems import Conflict, Unprocessable
from project.kit.clock import database_now
from project.kit.overtaking import looking_again

HEADER = "Idempotency-Key"
LONGEST_KEY = 200
REPLAYED = "Idempotency-Replayed"  # tells that an answer is that of the first request

Method = Callable[..., Response]


def answered_once(*, calls_out: bool = False) -> Callable[[Method], Method]:
    """Let a view's method take idempotency keys.

    Args:
        calls_out: it talks to others, and no transaction may be open meanwhile.
    """

    def decorate(method: Method) -> Method:
        @wraps(method)
        def answer(view: Any, request: Request, *args: Any, **kwargs: Any) -> Response:
            act, key = partial(method, view, request, *args, **kwargs), _key(request)
            if key is not None:
                act = partial(_answer if calls_out else transaction.atomic(_answer), request, key, act)
            return act() if calls_out else looking_again()(act)()

        answer.takes_keys = True  # type: ignore[attr-defined]  # for the schema
        return answer

    return decorate


def _answer(request: Request, key: str, act: Callable[[], Response]) -> Response:
    digest = _digest(request)
    ours = {"path": request.path[:500], "digest": digest, "created_at": database_now()}
    claim, is_first = IdempotentRequest.objects.get_or_create(user_id=request.user.pk, key=key, defaults=ours)  # type: ignore[misc]
    if not is_first:
        return _repeated(claim, digest)
    try:
        response = act()
    except (APIException, Http404):  # refused, so nothing was done; of anything else nobody knows
        claim.delete()
        raise
    claim.status, claim.body = response.status_code, response.data
    claim.save(update_fields=["status", "body"])
    return response


def _repeated(claim: IdempotentRequest, digest: str) -> Response:
    if claim.digest != digest:
        raise Unprocessable(_("This key was used for another request. Use a new key for what is new."))
    if claim.status is None:
        raise Conflict(
            _(
                "The first request with this key has not been answered yet. Ask again in a moment; if that lasts, look "
                "what came of it, and use a new key."
            )
        )
    return Response(claim.body, claim.status, headers={REPLAYED: "true"})


def _key(request: Request) -> str | None:
    key = request.headers.get(HEADER)
    if key is not None and not 1 <= len(key) <= LONGEST_KEY:
        raise ValidationError({HEADER: _("Write a key of 1 to %(most)s characters.") % {"most": LONGEST_KEY}})
    return key


def _digest(request: Request) -> str:
    return hashlib.sha256(b"\n".join([request.path.encode(), request.body])).hexdigest()

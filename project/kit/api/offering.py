"""Offers the object actions of the control panel over the API: the same permission, obstacles, form and audit log."""

from collections.abc import Callable
from typing import Any, cast

from django.contrib.admin import site
from django.db.models import Model
from django.shortcuts import get_object_or_404
from rest_framework.decorators import action as routed
from rest_framework.request import Request
from rest_framework.response import Response

from project.kit.admin import Done, ObjectAction, ObjectActionsMixin
from project.kit.admin.object_actions import Refused
from project.kit.api.forms import filled
from project.kit.api.idempotency import answered_once
from project.kit.api.problems import Conflict
from project.kit.api.serializers import RowSerializer
from project.kit.clock import database_now


def offered(
    action: ObjectAction,
    *,
    opens: type[RowSerializer] | None = None,
    ends: bool = False,
    calls_out: bool = False,
) -> Callable[..., Response]:
    """Return the method of a resource that performs the action on one of its rows, and answers with the row as it is
    then. It has to be named as the action is.

    Args:
        opens: of an action that opens another row, what shows that one: with it is answered instead.
        ends: the row is gone afterwards, and nothing is answered.
        calls_out: it talks to others, and no transaction may be open meanwhile.
    """

    def perform(view: Any, request: Request, **kwargs: Any) -> Response:
        row = view.get_object()
        done = perform_action(request, action, row, request.data)
        if opens is not None and done.show is not None:
            opened = get_object_or_404(type(done.show), pk=done.show.pk)
            return Response(opens(opened).data, status=201)
        return Response(status=204) if ends else Response(view.shown(row.pk))

    perform.__name__ = action.name.replace("-", "_")
    perform.offers, perform.ends = action, ends  # type: ignore[attr-defined]  # for the schema
    return routed(detail=True, methods=["post"], url_path=action.name, permission=action.permission, opens=opens)(
        answered_once(calls_out=calls_out)(perform)
    )


def perform_action(request: Request, action: ObjectAction, row: Model, said: Any) -> Done:
    """Perform the action as the control panel does, and return what came of it.

    Args:
        said: what its form is filled in with.

    Raises:
        ValidationError: a field of the form is wrong.
        Conflict: it is not possible with the row as it is; nothing was done.
    """
    panel = cast(ObjectActionsMixin, site.get_model_admin(type(row)))
    form = filled(action.form, said, row=row, now=database_now())
    try:
        return panel.perform(request._request, action, row.pk, panel.seen(row), form)
    except Refused as refusal:
        raise Conflict(str(refusal)) from refusal

"""What an endpoint is: a class that names its rows, how they are shown, filtered and ordered, and what can be done.

    class Alerts(Resource):
        queryset = Alert.objects.select_related("parent")
        serializer_class = AlertSerializer
        filterset_class = AlertFilters
        acknowledge = offered(ACKNOWLEDGE)

Lists and details come with it. `Creating` and `Patching` add those verbs, which write through the domain.
"""

from collections.abc import Iterable, Mapping, Sequence
from datetime import datetime
from typing import Any

from django.contrib.admin.models import ADDITION, CHANGE, LogEntry
from django.db import transaction
from django.db.models import Model, QuerySet
from django.shortcuts import get_object_or_404
from django.utils.translation import gettext as _
from rest_framework.mixins import ListModelMixin, RetrieveModelMixin
from rest_framework.negotiation import BaseContentNegotiation
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.serializers import BaseSerializer
from rest_framework.viewsets import GenericViewSet

from project.kit.api.idempotency import answered_once
from project.kit.api.problems import Conflict
from project.kit.api.serializers import RowSerializer
from project.kit.api.versions import etag, expected_version
from project.kit.audit import with_token
from project.kit.clock import database_now
from project.kit.overtaking import looking_again
from project.kit.versions import StaleVersion

VERBS = {"create": "add", "partial_update": "change", "update": "change", "destroy": "delete"}


class AlwaysJson(BaseContentNegotiation):
    """Answers with JSON, whatever a browser or a library says that it accepts."""

    def select_parser(self, request: Request, parsers: Any) -> Any:
        """Return the parser for the body; None: it is of no kind that is read."""
        kind = (request.content_type or "").partition(";")[0].strip().lower()
        return next((parser for parser in parsers if parser.media_type == kind), None)

    def select_renderer(self, request: Request, renderers: Any, format_suffix: Any = None) -> tuple[Any, str]:
        """Return the first renderer."""
        return renderers[0], renderers[0].media_type


class Resource(ListModelMixin, RetrieveModelMixin, GenericViewSet[Any]):
    """Rows of one kind: the list by pages, and each one.

    Attributes:
        detail_serializer_class: shows one row alone, where that tells more than the list does.
        filterset_class: the filters of the list.
        ordering_fields: the columns by which the list can be ordered: each has an index and no nulls.
        permission: of a route of its own, what it needs; the others need what Django calls their verb.
        opens: of a route of its own, what shows the row that it opens, with which it answers.
        permissions: of the verbs of HTTP, what one needs where that is another permission.
        governed_by: whose permissions count, where they are not those of the rows.
    """

    detail_serializer_class: type[BaseSerializer[Any]] | None = None
    filterset_class: Any = None
    ordering = "-id"
    ordering_fields: Sequence[str] = ("id",)
    permission = ""
    opens: type[RowSerializer] | None = None
    permissions: Mapping[str, str] = {}
    governed_by: type[Model] | None = None
    lookup_value_converter = "int"
    content_negotiation_class = AlwaysJson

    def needed_permissions(self) -> list[tuple[str, ...]]:
        """Return what the caller needs: of each of these, one. Whoever acts on a row is shown it, so may look."""
        needed = [_looking_at(self.governed_by or self.get_queryset().model)]
        if own := self.permission or self.permissions.get(self.action) or self._permission_of_verb():
            needed.append((own,))
        if self.opens:
            needed.append(_looking_at(self.opens.Meta.model))
        return list(dict.fromkeys(needed))

    def filter_queryset(self, queryset: QuerySet[Any]) -> QuerySet[Any]:
        """Return the rows that were asked for, of a list; a single row has no filters."""
        return super().filter_queryset(queryset) if self.action == "list" else queryset

    def get_serializer_class(self) -> type[BaseSerializer[Any]]:
        """Return what shows the rows."""
        if self.action == "retrieve" and self.detail_serializer_class:
            return self.detail_serializer_class
        return super().get_serializer_class()

    def shown(self, pk: Any) -> dict[str, Any]:
        """Return a row as it is now, as the API shows it."""
        shown: dict[str, Any] = self.get_serializer(get_object_or_404(self.get_queryset(), pk=pk)).data
        return shown

    def finalize_response(self, request: Request, response: Any, *args: Any, **kwargs: Any) -> Any:
        """Tell the version of a row as its ETag."""
        if tag := etag(getattr(response, "data", None)):
            response.headers["ETag"] = tag
        return super().finalize_response(request, response, *args, **kwargs)

    def audit(self, row: Model, flag: int, words: str) -> None:
        """Write to the audit log what was done to a row, and by which token."""
        self.audit_all([row], flag, words)

    def audit_all(self, rows: Iterable[Model], flag: int, words: str) -> None:
        """Write to the audit log what was done to each of the rows, and by which token."""
        user_id: int = self.request.user.pk  # type: ignore[assignment]  # nobody gets here unknown
        LogEntry.objects.log_actions(user_id, rows, flag, with_token(words, self.request))

    def _permission_of_verb(self) -> str:
        if self.action not in VERBS:
            return ""
        return permission_to(VERBS[self.action], self.governed_by or self.get_queryset().model)


def permission_to(verb: str, model: type[Model]) -> str:
    """Return what Django calls the permission for a verb on rows of a model."""
    return f"{model._meta.app_label}.{verb}_{model._meta.model_name}"


def _looking_at(model: type[Model]) -> tuple[str, ...]:
    return (permission_to("view", model), permission_to("change", model))


class Creating(Resource):
    """A resource to which rows can be added."""

    def add(self, values: dict[str, Any], *, actor: str, now: datetime) -> Model:
        """Insert a row through the domain, and return it.

        Raises:
            ValidationError: Django's; each sentence says which field is wrong and what would be right.
        """
        raise NotImplementedError

    @answered_once()
    def create(self, request: Request) -> Response:
        """Add a row."""
        said = self.get_serializer(data=request.data)
        said.is_valid(raise_exception=True)
        with transaction.atomic():
            row = self.add(said.validated_data, actor=request.user.get_username(), now=database_now())
            self.audit(row, ADDITION, _("Added through the API."))
        return Response(self.shown(row.pk), status=201)


class Patching(Resource):
    """A resource whose rows have a version, and can be changed."""

    def change(self, row: Any, *, expected_version: int, now: datetime) -> list[str]:
        """Write a row that holds the new values through the domain, and return the names of what really changed.

        Raises:
            StaleVersion: somebody else saved it since that version.
            ValidationError: as `Creating.add`.
        """
        raise NotImplementedError

    def partial_update(self, request: Request, pk: int) -> Response:
        """Change what is written and different; `If-Match` says on which version that is based."""
        return self.written(request, pk, request.data)

    @looking_again()
    def written(self, request: Request, pk: Any, values: Any) -> Response:
        """Write those of the values that are different, and answer with the row as it is then."""
        version, row = expected_version(request), self.get_object()
        said = self.get_serializer(row, data=values, partial=True)
        said.is_valid(raise_exception=True)
        for name, value in said.validated_data.items():
            setattr(row, name, value)
        try:
            self._store(row, version)
        except StaleVersion as stale:
            raise Conflict(str(stale), current=self.shown(row.pk)) from stale
        return Response(self.shown(row.pk))

    def _store(self, row: Any, version: int) -> None:
        with transaction.atomic():
            changed = self.change(row, expected_version=version, now=database_now())
            if changed:
                words = _("Changed through the API: %(fields)s.") % {"fields": ", ".join(changed)}
                self.audit(row, CHANGE, words)

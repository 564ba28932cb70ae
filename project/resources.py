"""What the API offers of what is no domain's own: its tokens, and the audit log."""

from datetime import datetime
from typing import Any

import django_filters
from django.contrib.admin.models import ADDITION, CHANGE, DELETION, LogEntry
from django.db import transaction
from django.db.models import QuerySet
from django.utils.translation import gettext as _
from drf_spectacular.utils import extend_schema
from rest_framework import serializers
from rest_framework.exceptions import PermissionDenied
from rest_framework.request import Request
from rest_framework.response import Response

from project.kit.api import tokens
from project.kit.api.models import ApiToken
from project.kit.api.offering import offered
from project.kit.api.resources import Resource
from project.kit.api.serializers import Instant, RowSerializer
from project.kit.clock import database_now
from project.token_admin import REVOKE, check_expiry, check_scopes

FLAGS = {ADDITION: "added", CHANGE: "changed", DELETION: "deleted"}


# --- tokens ----------------------------------------------------------------------------------------------------


class TokenSerializer(RowSerializer):
    """A token. Its text is shown once, when it is made, and stands nowhere afterwards."""

    user = serializers.CharField(source="user.username", read_only=True, help_text="As whom it acts.")
    scopes = serializers.ListField(
        child=serializers.CharField(), allow_empty=False, help_text="read, write, or permissions."
    )
    good = serializers.SerializerMethodField(help_text="Whether it lets anybody in.")

    class Meta:
        model = ApiToken
        fields: tuple[str, ...] = (
            *("id", "name", "user", "prefix", "scopes", "good"),
            *("created_at", "expires_at", "revoked_at", "last_used_at"),
        )
        read_only_fields = ("prefix", "created_at", "revoked_at", "last_used_at")

    def get_good(self, token: ApiToken) -> bool:
        """Return whether it lets anybody in."""
        return not tokens.obstacle(token, self.context["now"])

    def validate_scopes(self, said: list[str]) -> list[str]:
        """Return the scopes, each once."""
        return check_scopes(said)

    def validate_expires_at(self, said: datetime) -> datetime:
        """Return when it expires."""
        return check_expiry(said, self.context["now"])


class MadeTokenSerializer(TokenSerializer):
    """A token that was made just now."""

    token = serializers.SerializerMethodField(help_text="Its text, shown this once.")

    class Meta(TokenSerializer.Meta):
        fields = (*TokenSerializer.Meta.fields, "token")

    def get_token(self, token: ApiToken) -> str:
        """Return its text."""
        text: str = self.context["text"]
        return text


class Tokens(Resource):
    """One's own tokens."""

    queryset = ApiToken.objects.select_related("user")
    serializer_class = TokenSerializer

    revoke = offered(REVOKE)

    def get_queryset(self) -> QuerySet[ApiToken]:
        """Return the tokens of whoever asks, also of a superuser: those of others are for the control panel."""
        rows: QuerySet[ApiToken] = super().get_queryset()
        return rows.filter(user_id=self.request.user.pk or 0)

    def get_serializer_context(self) -> dict[str, Any]:
        """Return the context, with the present instant."""
        return {**super().get_serializer_context(), "now": database_now()}

    @extend_schema(responses={201: MadeTokenSerializer})
    def create(self, request: Request) -> Response:
        """Make a token for oneself; the answer is the only one that shows it. For people with a session: a token that
        leaked could make others, and outlive its end.

        It takes no idempotency key, since a kept answer would keep the token. If no answer came, revoke what was made.
        """
        said = self.get_serializer(data=request.data)
        said.is_valid(raise_exception=True)
        if isinstance(request.auth, ApiToken):
            raise PermissionDenied(_("A token makes no other tokens. Make one in the control panel."))
        with transaction.atomic():
            token = ApiToken(**said.validated_data, user_id=request.user.pk or 0)  # nobody gets here unknown
            text = tokens.issue(token, now=database_now())
            self.audit(token, ADDITION, _("Added through the API."))
        context = {**self.get_serializer_context(), "text": text}
        answer = Response(MadeTokenSerializer(token, context=context).data, status=201)
        answer.headers["Cache-Control"] = "no-store"
        return answer


# --- the audit log ---------------------------------------------------------------------------------------------


class LogEntrySerializer(RowSerializer):
    """What somebody did, and why."""

    at = Instant(source="action_time")
    user = serializers.CharField(source="user.username")
    what = serializers.SerializerMethodField(help_text="What was done, with the reason that was given.")
    did = serializers.SerializerMethodField()
    kind = serializers.SerializerMethodField(help_text="Of which rows, as app.model. Empty: of none that there is.")

    class Meta:
        model = LogEntry
        fields = read_only_fields = ("id", "at", "user", "did", "kind", "object_id", "object_repr", "what")

    def get_did(self, entry: LogEntry) -> str:
        """Return what was done to the row: it was added, changed or deleted."""
        return FLAGS[entry.action_flag]

    def get_kind(self, entry: LogEntry) -> str:
        """Return of which rows."""
        kind = entry.content_type
        return f"{kind.app_label}.{kind.model}" if kind else ""

    def get_what(self, entry: LogEntry) -> str:
        """Return what was done."""
        return entry.get_change_message()


class LogEntryFilters(django_filters.FilterSet):
    """By who did it, to what."""

    user = django_filters.CharFilter(field_name="user__username")
    app = django_filters.CharFilter(field_name="content_type__app_label")
    model = django_filters.CharFilter(field_name="content_type__model")
    object_id = django_filters.CharFilter()


class AuditLog(Resource):
    """What people and programs did, and why."""

    queryset = LogEntry.objects.select_related("user", "content_type")
    serializer_class = LogEntrySerializer
    filterset_class = LogEntryFilters


RESOURCES = {"api-tokens": Tokens, "audit-log": AuditLog}

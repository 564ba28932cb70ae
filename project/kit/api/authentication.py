"""Who asks: a program with a bearer token, or a person with a session, whose requests keep their CSRF check."""

from typing import Any

from django.conf import settings
from django.utils.translation import gettext as _
from drf_spectacular.extensions import OpenApiAuthenticationExtension
from rest_framework.authentication import BaseAuthentication, SessionAuthentication
from rest_framework.exceptions import AuthenticationFailed, PermissionDenied
from rest_framework.request import Request

from project.kit.api import tokens
from project.kit.api.models import ApiToken


class BearerAuthentication(BaseAuthentication):
    """Takes `Authorization: Bearer <token>`; `request.auth` is the token's row."""

    def authenticate(self, request: Request) -> tuple[Any, ApiToken] | None:
        """Return the token's user and the token; None: the request carries none.

        Raises:
            AuthenticationFailed: it is not known, or not good any more.
        """
        scheme, _space, text = request.headers.get("Authorization", "").partition(" ")
        if scheme.lower() != "bearer":
            return None
        found = tokens.find(text.strip())
        if found is None:
            raise AuthenticationFailed(_("This token is not known. Check that it was copied as a whole."))
        token, now = found
        if obstacle := tokens.obstacle(token, now):
            raise AuthenticationFailed(obstacle)
        tokens.note_use(token, now)
        return token.user, token

    def authenticate_header(self, request: Request) -> str:
        """Return what a refusal asks for."""
        return 'Bearer realm="Tideline"'


class PanelSession(SessionAuthentication):
    """The session of somebody who is logged in at the control panel."""

    def enforce_csrf(self, request: Request) -> None:
        """Refuse what a foreign page may have sent."""
        try:
            super().enforce_csrf(request)
        except PermissionDenied:
            sentence = _("With a session, a request that changes something needs its CSRF token; programs use tokens.")
            raise PermissionDenied(sentence) from None


class BearerScheme(OpenApiAuthenticationExtension):  # type: ignore[no-untyped-call]
    """Describes bearer tokens in the schema."""

    target_class = BearerAuthentication
    name = "token"

    def get_security_definition(self, auto_schema: Any) -> dict[str, str]:
        """Return the definition."""
        return {"type": "http", "scheme": "bearer", "description": "A token that was made in the control panel."}


class SessionScheme(OpenApiAuthenticationExtension):  # type: ignore[no-untyped-call]
    """Describes sessions in the schema."""

    target_class = PanelSession
    name = "session"

    def get_security_definition(self, auto_schema: Any) -> dict[str, str]:
        """Return the definition."""
        return {"type": "apiKey", "in": "cookie", "name": settings.SESSION_COOKIE_NAME}

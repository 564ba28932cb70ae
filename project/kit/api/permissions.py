"""Who may do what: the same Django permissions as in the control panel, narrowed by the scopes of a token."""

from typing import Any

from django.utils.translation import gettext as _
from rest_framework.exceptions import NotAuthenticated, PermissionDenied
from rest_framework.permissions import BasePermission
from rest_framework.request import Request

from project.kit.api import scopes
from project.kit.api.models import ApiToken


class ByPermission(BasePermission):
    """Asks for what the view's `needed_permissions()` tells."""

    def has_permission(self, request: Request, view: Any) -> bool:
        """Return True.

        Raises:
            NotAuthenticated: nobody knows who asks.
            PermissionDenied: the user, or the token, may not do this.
        """
        if not request.user.is_authenticated:
            raise NotAuthenticated
        for alternatives in view.needed_permissions():
            demand(request, alternatives)
        return True


def demand(request: Request, alternatives: tuple[str, ...]) -> None:
    """Ask for one of the permissions, of the user and of the token.

    Raises:
        PermissionDenied: the user, or the token, may not do this.
    """
    had = [permission for permission in alternatives if request.user.has_perm(permission)]
    if not had:
        sentence = _("You may not do this. It needs the permission “%(permission)s”.")
        raise PermissionDenied(sentence % {"permission": alternatives[0]})
    token = request.auth
    if isinstance(token, ApiToken) and not any(scopes.covered(token.scopes, permission) for permission in had):
        sentence = _("You may do this, but your token may not. It needs the scope “%(permission)s”.")
        raise PermissionDenied(sentence % {"permission": had[0]})

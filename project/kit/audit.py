"""What the audit log says of the door through which somebody came."""

from typing import Any

from django.utils.translation import gettext as _


def token_named(request: Any) -> str:
    """Return a sentence that names the token of a request to the API; empty: it carries none, or came by a page."""
    token = getattr(request, "auth", None)  # set by Django REST framework
    return _("Token: %(name)s.") % {"name": token.name} if token else ""

"""What the audit log says of the door through which somebody came."""

from typing import Any

from django.utils.translation import gettext as _

from project.kit.sentences import closed, together

_ENDS = (".", "!", "?", "…", "。", "！", "？")


def with_token(words: str, request: Any) -> str:
    """Return what was done; of a request to the API that carries a token, with a sentence behind that names it."""
    token = getattr(request, "auth", None)  # set by Django REST framework
    if not token:
        return words
    said = words if words.endswith(_ENDS) else closed(words)
    return together(said, _("Token: %(name)s.") % {"name": token.name})

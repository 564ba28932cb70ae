"""System checks of the settings by which letters go out, each with an id and a remedy."""

from collections.abc import Sequence
from typing import Any

from django.conf import settings
from django.core.checks import CheckMessage, Error, register


@register()
def mail_is_encrypted_in_one_way(app_configs: Sequence[Any] | None, **kwargs: Any) -> list[CheckMessage]:
    """Refuse both ways of TLS at once: a mail server takes the one or the other, and no letter would go out."""
    if not (settings.EMAIL_USE_TLS and settings.EMAIL_USE_SSL):
        return []
    return [
        Error(
            "EMAIL_USE_TLS and EMAIL_USE_SSL are both on: no letter could be sent.",
            hint="Leave EMAIL_USE_TLS on for a server that is asked for TLS after the greeting (STARTTLS, port 587), or"
            " EMAIL_USE_SSL for one that speaks TLS from the beginning (port 465).",
            id="alerts.E001",
        )
    ]

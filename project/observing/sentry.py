"""Errors go to Sentry: unhandled ones, and what is logged as an error. Its SDK reads SENTRY_ENVIRONMENT and
SENTRY_RELEASE itself.
"""

from typing import Any

import sentry_sdk
from django.conf import settings
from sentry_sdk.integrations.argv import ArgvIntegration
from sentry_sdk.types import Event, Hint
from structlog.contextvars import get_contextvars

from project.logs import discreet


def begin() -> None:
    """Begin to tell Sentry."""
    sentry_sdk.init(
        dsn=settings.SENTRY_DSN,
        send_default_pii=False,
        include_local_variables=False,  # a frame of ours may hold what the database keeps encrypted
        max_request_body_size="never",
        disabled_integrations=[ArgvIntegration()],  # what was said to a command may be a secret of any form
        before_send=prepared,
    )


def prepared(event: Event, hint: Hint) -> Event:
    """Return what Sentry is told: with the ids that the log has, and without secrets."""
    if "logentry" in event:
        # Alone, a value no longer looks like the secret that it may be; the whole sentence is told beside.
        event["logentry"] = {key: part for key, part in event["logentry"].items() if key != "params"}
    event["tags"] = {**event.get("tags", {}), **{name: str(value) for name, value in get_contextvars().items()}}
    masked: Event = masked_within(event)
    return masked


def masked_within(value: Any) -> Any:
    """Return the value with all texts in it masked, however deep they stand."""
    if isinstance(value, str):
        return discreet(value)
    if isinstance(value, dict):
        return {key: masked_within(each) for key, each in value.items()}
    if isinstance(value, list | tuple):
        return [masked_within(each) for each in value]
    return value

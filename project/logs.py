"""What a line of the log looks like, of our own modules and of libraries: a record with the ids of what it is about
(`run`, `card`, `request_id` …), for people as `key=value`, for programs as JSON. No secret stands in it.

The ids are bound where the work begins (`structlog.contextvars`); whoever logs uses the standard library and need not
know them.
"""

import logging
from functools import lru_cache
from typing import Any

import structlog
from django.conf import settings
from structlog.typing import EventDict, Processor

from alerts.masking import masked
from project.kit import redis_urls
from project.kit.secrets import DOTS

# Shorter ones would be found in texts that do not mean them.
SHORTEST_SECRET = 8
SECRET_SETTINGS = (
    "SECRET_KEY",
    "SECRET_KEY_FALLBACKS",
    "TIDELINE_SECRETS_KEYS",
    "TIDELINE_METRICS_TOKEN",
    "TIDELINE_INBOX_SECRET",
    "EMAIL_HOST_PASSWORD",
    "SENTRY_DSN",
)


def formatter(form: str) -> logging.Formatter:
    """Return what writes the records in this form."""
    return structlog.stdlib.ProcessorFormatter(
        foreign_pre_chain=[
            structlog.contextvars.merge_contextvars,
            structlog.stdlib.add_log_level,
            structlog.stdlib.add_logger_name,
            structlog.processors.TimeStamper(fmt="iso", utc=True),
        ],
        processors=[
            structlog.stdlib.ProcessorFormatter.remove_processors_meta,
            structlog.processors.format_exc_info,
            without_secrets,
            *(_for_programs() if form == "json" else [one_line]),
        ],
    )


def _for_programs() -> list[Processor]:
    return [
        structlog.processors.EventRenamer("message"),
        structlog.processors.JSONRenderer(ensure_ascii=False, default=str),
    ]


def one_line(logger: Any, method: str, event: EventDict) -> str:
    """Write a record for people: when, how bad, who, what, and the ids; a traceback follows on lines of its own."""
    when, level, name, what = (event.pop(key) for key in ("timestamp", "level", "logger", "event"))
    traceback = event.pop("exception", None)
    ids = "".join(f" {key}={value}" for key, value in event.items())
    line = _unbroken(f"{when} {level.upper()} {name}: {what}{ids}")
    return f"{line}\n{traceback}" if traceback else line


def _unbroken(text: str) -> str:
    """Return the text on one line, so that nobody writes records of their own into the log."""
    return "".join(character if character.isprintable() else _escaped(character) for character in text)


def _escaped(character: str) -> str:
    return character.encode("unicode_escape").decode()


def without_secrets(logger: Any, method: str, event: EventDict) -> EventDict:
    """Mask what may be a secret in a record's texts."""
    return {key: discreet(value) if isinstance(value, str) else value for key, value in event.items()}


def discreet(text: str) -> str:
    """Return the text without the secrets of the settings, and without what looks like a secret."""
    for secret in secrets_of_the_settings():
        text = text.replace(secret, DOTS)
    return masked(text)


@lru_cache(maxsize=1)
def secrets_of_the_settings() -> tuple[str, ...]:
    """Return the secrets that the process was started with, the longest first: one may be a part of another."""
    return tuple(sorted(filter(_is_long_enough, _all_secrets()), key=len, reverse=True))


def _is_long_enough(secret: str) -> bool:
    return len(secret) >= SHORTEST_SECRET


def _all_secrets() -> set[str]:
    found: set[str] = {str(database.get("PASSWORD") or "") for database in settings.DATABASES.values()}
    found |= redis_urls.passwords(settings.REDIS_URL)
    for name in SECRET_SETTINGS:
        value = getattr(settings, name)
        found |= {value} if isinstance(value, str) else set(value)
    return found

"""Reads settings from environment variables, each with a clear sentence when its value cannot be used."""

import os
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import dj_database_url
from django.core.exceptions import ImproperlyConfigured

from project.kit import redis_urls

MOST_DAYS = 36_500
TRUE, FALSE = {"1", "true", "yes", "on"}, {"", "0", "false", "no", "off"}


def flag(name: str, default: bool) -> bool:
    """Return the variable as yes or no.

    Raises:
        ImproperlyConfigured: the value is neither.
    """
    value = os.environ.get(name)
    if value is None:
        return default
    if value.lower() in TRUE | FALSE:
        return value.lower() in TRUE
    raise ImproperlyConfigured(f"{name} is {value!r}: say 1 or 0.")


def number(name: str, default: int) -> int:
    """Return the variable as a whole number of at least 0.

    Raises:
        ImproperlyConfigured: the value is no such number.
    """
    value = os.environ.get(name, str(default))
    if not value.isdecimal():
        raise ImproperlyConfigured(f"{name} is {value!r}: say a whole number, for example {default}.")
    return int(value)


def choice(name: str, default: str, known: Sequence[str]) -> str:
    """Return the variable as one of the words that are known.

    Raises:
        ImproperlyConfigured: it is none of them.
    """
    value = os.environ.get(name, default)
    if value not in known:
        raise ImproperlyConfigured(f"{name} is {value!r}: say one of {', '.join(known)}.")
    return value


def days(name: str, default: int) -> int:
    """Return the variable as a number of days; 0 or empty means for ever, and is returned as 0.

    Raises:
        ImproperlyConfigured: the value is no whole number, or more than a hundred years.
    """
    count = number(name, default) if os.environ.get(name) != "" else 0
    if count > MOST_DAYS:
        raise ImproperlyConfigured(f"{name} is {count}: say at most {MOST_DAYS} days, or 0 for ever.")
    return count


def postgresql(name: str, default: str, **options: Any) -> dict[str, Any]:
    """Return Django's settings for the PostgreSQL whose URL the variable holds.

    Raises:
        ImproperlyConfigured: the value is no such URL; the text does not show it, for it may hold a password.
    """
    try:
        database: dict[str, Any] = {**dj_database_url.parse(os.environ.get(name) or default, **options)}
    except ValueError:
        database = {}
    if database.get("ENGINE") != "django.db.backends.postgresql":
        raise ImproperlyConfigured(
            f"{name} is no address of a PostgreSQL: say postgresql://user:password@host:5432/name."
        ) from None
    return database


def redis(name: str, default: str) -> str:
    """Return the variable as the address of a Redis.

    Raises:
        ImproperlyConfigured: it is none; the text does not show it, for it may hold a password.
    """
    url = os.environ.get(name) or default
    try:
        redis_urls.check(url)
    except ValueError as error:
        raise ImproperlyConfigured(
            f"{name} is no address of a Redis: {error}. Say redis://:password@host:6379/0, rediss://… over TLS, or"
            " sentinel://:password@one:26379,two:26379/0?master=name."
        ) from None
    return url


def words(name: str) -> list[str]:
    """Return the variable's comma-separated words."""
    return [word.strip() for word in os.environ.get(name, "").split(",") if word.strip()]


def load_tryout(file: Path) -> None:
    """Take from the try-out's file (NAME=value lines, written by `bin/up`) what the environment does not say."""
    if not file.is_file():
        return
    for line in file.read_text().splitlines():
        name, separator, value = line.partition("=")
        if separator and not name.startswith("#"):
            os.environ.setdefault(name.strip(), value.strip())

"""Reads settings from environment variables, each with a clear sentence when its value cannot be used."""

import os
from pathlib import Path

from django.core.exceptions import ImproperlyConfigured

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

"""Tells others how this process does, where the settings name them: errors to Sentry, traces by OpenTelemetry.

Their packages are not needed otherwise: `pip install -r requirements-observability.txt`. What is told is masked
as the log is.
"""

from collections.abc import Callable
from importlib import import_module

from django.conf import settings
from django.core.exceptions import ImproperlyConfigured


def begin() -> None:
    """Begin to tell whom the settings name. Called once, when a process starts and before it forks.

    Raises:
        ImproperlyConfigured: a package is missing; the text says how to get it.
    """
    if settings.SENTRY_DSN:
        _beginning_of("sentry", "SENTRY_DSN")()
    if settings.OTEL_EXPORTER_OTLP_ENDPOINT:
        _beginning_of("traces", "OTEL_EXPORTER_OTLP_ENDPOINT")()


def _beginning_of(part: str, setting: str) -> Callable[[], None]:
    """Return how the part begins; it is loaded only now, with its packages."""
    try:
        begin: Callable[[], None] = import_module(f"project.observing.{part}").begin
    except ModuleNotFoundError as error:
        raise ImproperlyConfigured(
            f"{setting} needs the package {error.name}: pip install -r requirements-observability.txt"
        ) from None
    return begin

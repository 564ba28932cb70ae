"""System checks of the scheduler's settings, each with an id and a remedy."""

from collections.abc import Sequence
from typing import Any

from django.conf import settings
from django.core.checks import CheckMessage, Error, Tags, Warning, register

SHORTEST_LEASE_SECONDS = 5


@register(Tags.security, deploy=True)
def commands_are_off(app_configs: Sequence[Any] | None, **kwargs: Any) -> list[CheckMessage]:
    """Warn where shell commands are allowed: whoever may edit such a schedule owns the worker's account."""
    if not settings.TIDELINE_ALLOW_COMMANDS:
        return []
    return [
        Warning(
            "TIDELINE_ALLOW_COMMANDS is on: users with “Can edit schedules that run shell commands” run programs as"
            " the worker's user.",
            hint="Leave it off where nobody needs it, or silence scheduler.W001 where you mean it.",
            id="scheduler.W001",
        )
    ]


@register()
def leases_outlast_heartbeats(app_configs: Sequence[Any] | None, **kwargs: Any) -> list[CheckMessage]:
    """Refuse a lease that a busy machine could not extend in time."""
    if settings.TIDELINE_LEASE_SECONDS >= SHORTEST_LEASE_SECONDS:
        return []
    return [
        Error(
            f"TIDELINE_LEASE_SECONDS is {settings.TIDELINE_LEASE_SECONDS}: workers extend their leases about once a"
            " second, and healthy runs would be taken from them.",
            hint=f"Set it to at least {SHORTEST_LEASE_SECONDS}; 30 is usual.",
            id="scheduler.E001",
        )
    ]


@register()
def some_hints_may_wait(app_configs: Sequence[Any] | None, **kwargs: Any) -> list[CheckMessage]:
    """Refuse a queue limit under which nothing would ever be launched."""
    if settings.TIDELINE_QUEUE_LIMIT > 0:
        return []
    return [
        Error(
            "TIDELINE_QUEUE_LIMIT is 0: no run would ever be launched.",
            hint="Set it to the number of hints that may wait in the broker; 1000 is usual.",
            id="scheduler.E002",
        )
    ]

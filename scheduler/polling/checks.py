"""System checks of the polling's settings, each with an id and a remedy."""

from collections.abc import Sequence
from typing import Any

from django.conf import settings
from django.core.checks import CheckMessage, Error, register

# One renewal may fail and the next one be late, and the lease still holds.
RENEWALS_IN_A_LEASE = 3


@register()
def leases_outlast_renewals(app_configs: Sequence[Any] | None, **kwargs: Any) -> list[CheckMessage]:
    """Refuse a lease that one failed renewal would lose: its card would be taken from a healthy poller."""
    lease, renewal = settings.TIDELINE_POLLING_LEASE_SECONDS, settings.TIDELINE_POLLING_RENEW_SECONDS
    if renewal > 0 and lease >= RENEWALS_IN_A_LEASE * renewal:
        return []
    return [
        Error(
            f"TIDELINE_POLLING_LEASE_SECONDS is {lease} and TIDELINE_POLLING_RENEW_SECONDS {renewal}: a claim is lost"
            " where one renewal fails and the next is late.",
            hint="Let the lease last for at least three renewals, which are seconds apart; 60 and 15 are usual.",
            id="polling.E001",
        )
    ]

"""How often one may ask. The counts lie in Django's cache: in the memory of each web process, unless CACHES says more.

So a hung Redis delays nobody, and the limit holds for each process: it keeps a runaway program from taking all of a
process, and is not a quota.
"""

from typing import Any

from rest_framework.request import Request
from rest_framework.throttling import SimpleRateThrottle

from project.kit.api.models import ApiToken


class PerCaller(SimpleRateThrottle):
    """Counts the requests of each token, and of each user with a session."""

    scope = "caller"

    def get_cache_key(self, request: Request, view: Any) -> str:
        """Return under what the caller's requests are counted."""
        if isinstance(request.auth, ApiToken):
            return f"api-token-{request.auth.pk}"
        return f"api-user-{request.user.pk}"

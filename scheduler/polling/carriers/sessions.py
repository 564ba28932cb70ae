"""The connections of a process to all carriers."""

import aiohttp
from django.conf import settings

from project.kit.outbound import GuardedConnector

# Above what pollers keep in flight, so that calls wait at the gates of their accounts and not for a connection here;
# a host has fewer, so that one where everything hangs cannot take them all.
CONNECTIONS = 2000
CONNECTIONS_A_HOST = 1000
# Below what servers usually keep an idle connection for.
KEPT_SECONDS = 30
# For so long an answer of the DNS holds; it is checked whenever somebody connects.
NAMES_KEPT_SECONDS = 60


def open_session() -> aiohttp.ClientSession:
    """Return a session for all gateways of the running event loop; whoever opens it closes it.

    It calls public addresses only, except hosts that TIDELINE_ALLOWED_HOSTS_INWARD opens; it keeps no cookies and
    uses no proxy of the environment.
    """
    connector = GuardedConnector(
        settings.TIDELINE_ALLOWED_HOSTS_INWARD,
        limit=CONNECTIONS,
        limit_per_host=CONNECTIONS_A_HOST,
        keepalive_timeout=KEPT_SECONDS,
        ttl_dns_cache=NAMES_KEPT_SECONDS,
    )
    return aiohttp.ClientSession(
        connector=connector,
        cookie_jar=aiohttp.DummyCookieJar(),
        headers={"User-Agent": "tideline", "Accept": "application/json", "Accept-Encoding": "identity"},
        trust_env=False,
    )

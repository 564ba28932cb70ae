"""What `REDIS_URL` says, told to redis-py and to Celery in the words of each.

    redis://:password@host:6379/2
    rediss://:password@host:6379/2?ssl_ca_certs=/etc/ssl/redis-ca.pem
    sentinel://:password@one:26379,two:26379/2?master=tideline&sentinel_password=other

Of a sentinel's address, user, password and database are those of the Redis behind it. Over TLS the server's certificate
is checked unless the address says `ssl_cert_reqs=none`; left to itself, Celery would check none.
"""

import ssl
from dataclasses import dataclass
from typing import Any, Self
from urllib.parse import SplitResult, parse_qsl, quote, unquote, urlsplit

from redis import Redis
from redis.asyncio import BlockingConnectionPool
from redis.asyncio import Redis as AsyncRedis
from redis.asyncio.sentinel import Sentinel as AsyncSentinel
from redis.asyncio.sentinel import SentinelConnectionPool
from redis.sentinel import Sentinel

SENTINEL_PORT = 26379
DEFAULT_MASTER = "mymaster"
CERT_REQS = {"required": ssl.CERT_REQUIRED, "optional": ssl.CERT_OPTIONAL, "none": ssl.CERT_NONE}
TLS_OPTIONS = {"ssl_cert_reqs", "ssl_ca_certs", "ssl_certfile", "ssl_keyfile", "ssl_check_hostname"}
SENTINEL_OPTIONS = {"master", "sentinel_username", "sentinel_password"}


class BlockingSentinelPool(SentinelConnectionPool, BlockingConnectionPool):
    """Connections to the master that the sentinels know; whoever finds all of them in use waits."""

    async def aclose(self) -> None:
        """Close them, and those to the sentinels."""
        await super().aclose()
        await self.sentinel_manager.aclose()


@dataclass(frozen=True)
class Broker:
    """What Celery has to be told: `broker_url`, `broker_use_ssl`, and options for its transport."""

    url: str
    use_ssl: dict[str, Any] | None
    options: dict[str, Any]


def check(url: str) -> None:
    """Say whether this is the address of a Redis.

    Raises:
        ValueError: it is none; the text names what is wrong and shows neither the address nor its password.
    """
    parts = _split(url)
    if parts.scheme == "sentinel":
        _Sentinels.of(parts)
    elif parts.scheme == "rediss":
        _tls(parts)


def passwords(url: str) -> set[str]:
    """Return the passwords that an address names, as they are written there and as they are meant."""
    parts = _split(url)
    _, _, password = parts.netloc.rpartition("@")[0].partition(":")
    sentinel = dict(parse_qsl(parts.query)).get("sentinel_password", "")
    return {text for text in (password, unquote(password), sentinel) if text}


def client(url: str, **options: Any) -> Redis:
    """Return a client of redis-py for this address, with options of its connections; whoever asks for it closes it.

    Raises:
        ValueError: it is no address of a Redis.
    """
    parts = _split(url)
    if parts.scheme != "sentinel":
        return Redis.from_url(url, **options)
    known = _Sentinels.of(parts)
    manager = Sentinel(known.hosts, sentinel_kwargs=known.asked_with(options))
    master: Redis = manager.master_for(known.master, **known.server, **options)
    return master


def async_client(url: str, *, max_connections: int, timeout: float, **options: Any) -> AsyncRedis:
    """Return a client for one event loop; whoever asks for it closes it.

    Args:
        max_connections: that it holds at most; further calls wait for one.
        timeout: for how many seconds they wait.

    Raises:
        ValueError: it is no address of a Redis.
    """
    parts = _split(url)
    bounds = {"max_connections": max_connections, "timeout": timeout}
    if parts.scheme != "sentinel":
        return AsyncRedis.from_pool(BlockingConnectionPool.from_url(url, **bounds, **options))
    known = _Sentinels.of(parts)
    manager = AsyncSentinel(known.hosts, sentinel_kwargs=known.asked_with(options))
    return AsyncRedis.from_pool(BlockingSentinelPool(known.master, manager, **bounds, **known.server, **options))


def broker(url: str, **options: Any) -> Broker:
    """Return the same address in Celery's words, with options for its transport.

    Raises:
        ValueError: it is no address of a Redis.
    """
    parts = _split(url)
    if parts.scheme == "sentinel":
        known = _Sentinels.of(parts)
        options |= {"master_name": known.master, "sentinel_kwargs": known.asked_with(options)}
        return Broker(known.celery_url(), None, options)
    use_ssl = _tls(parts) if parts.scheme == "rediss" else None
    return Broker(parts._replace(query="").geturl(), use_ssl, options)


@dataclass(frozen=True)
class _Sentinels:
    """Who knows where the master is, and how both are asked."""

    hosts: list[tuple[str, int]]
    master: str
    server: dict[str, Any]
    credentials: dict[str, str]

    @classmethod
    def of(cls, parts: SplitResult) -> Self:
        """Return what an address says that begins with `sentinel`."""
        query = _query(parts, SENTINEL_OPTIONS)
        who, _, where = parts.netloc.rpartition("@")
        username, _, password = (unquote(word) for word in who.partition(":"))
        server = {"username": username or None, "password": password or None, "db": _database(parts)}
        credentials = {
            name: query[f"sentinel_{name}"] for name in ("username", "password") if f"sentinel_{name}" in query
        }
        return cls([_host(word) for word in where.split(",")], query.get("master", DEFAULT_MASTER), server, credentials)

    def asked_with(self, options: dict[str, Any]) -> dict[str, Any]:
        """Return what a connection to a sentinel needs: no longer waits than those to the server, and a password."""
        waits = ("socket_timeout", "socket_connect_timeout", "retry")
        return {name: options[name] for name in waits if name in options} | self.credentials

    def celery_url(self) -> str:
        """Return the address as kombu reads it: each sentinel with what the server needs."""
        user, password = (quote(self.server[name] or "", safe="") for name in ("username", "password"))
        who = f"{user}:{password}@" if user or password else ""
        hosts = (f"[{host}]:{port}" if ":" in host else f"{host}:{port}" for host, port in self.hosts)
        return ";".join(f"sentinel://{who}{host}/{self.server['db']}" for host in hosts)


def _split(url: str) -> SplitResult:
    """Return the parts of the address.

    Raises:
        ValueError: its beginning is not one of the three, or it has no host or no readable port or database.
    """
    parts = urlsplit(url)
    if parts.scheme not in {"redis", "rediss", "sentinel"} or not parts.netloc.rpartition("@")[2]:
        raise ValueError("it begins neither with redis:// nor with rediss:// nor with sentinel:// and a host")
    _database(parts)
    if parts.scheme != "sentinel":
        _host(parts.netloc.rpartition("@")[2])
    if parts.scheme == "redis":
        _query(parts, set())
    return parts


def _host(word: str) -> tuple[str, int]:
    try:
        parts = urlsplit(f"//{word.strip()}")
        host, port = parts.hostname, parts.port
    except ValueError:
        host = port = None
    if not host:
        raise ValueError("a host is missing, or a port is no number")
    return host, port or SENTINEL_PORT


def _database(parts: SplitResult) -> int:
    number = parts.path.strip("/") or "0"
    if not number.isdecimal():
        raise ValueError("what follows the host is not the number of a database")
    return int(number)


def _tls(parts: SplitResult) -> dict[str, Any]:
    query: dict[str, Any] = {"ssl_cert_reqs": "required", **_query(parts, TLS_OPTIONS)}
    if query["ssl_cert_reqs"] not in CERT_REQS:
        raise ValueError(f"ssl_cert_reqs is none of {', '.join(CERT_REQS)}")
    query["ssl_cert_reqs"] = CERT_REQS[query["ssl_cert_reqs"]]
    if "ssl_check_hostname" in query:
        query["ssl_check_hostname"] = query["ssl_check_hostname"].lower() not in {"0", "false", "no"}
    return query


def _query(parts: SplitResult, known: set[str]) -> dict[str, str]:
    query = dict(parse_qsl(parts.query, keep_blank_values=True))
    if unknown := query.keys() - known:
        raise ValueError(f"it has words that mean nothing here: {', '.join(sorted(unknown))}")
    return query

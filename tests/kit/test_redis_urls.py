"""One address of a Redis, told to redis-py and to Celery: with a password, a database, over TLS, behind sentinels."""

import asyncio
import shutil
import ssl
import subprocess
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
import redis
from celery import Celery
from kombu.exceptions import OperationalError
from redis.backoff import NoBackoff
from redis.retry import Retry

from project.kit import redis_urls
from project.services import Redis
from project.services.redis_server import find_binary, free_port

ONCE = {"socket_timeout": 5, "socket_connect_timeout": 5, "retry": Retry(NoBackoff(), 0)}
SENTINELS = "sentinel://me:p%40ss@one:1,two/2?master=tideline&sentinel_password=other"


# --- what an address says --------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "url",
    [
        "redis://127.0.0.1",
        "redis://:secret@[::1]:6379/2",
        "rediss://me:secret@redis.example:6380/0?ssl_ca_certs=/etc/ca.pem&ssl_check_hostname=false",
        SENTINELS,
    ],
)
def test_an_address_in_one_of_the_three_forms_is_accepted(url: str) -> None:
    redis_urls.check(url)


@pytest.mark.parametrize(
    ("url", "reason"),
    [
        ("me:secret@127.0.0.1", "begins neither"),
        ("http://:secret@127.0.0.1", "begins neither"),
        ("redis://:secret@/0", "and a host"),
        ("redis://:secret@host:many/0", "a port is no number"),
        ("redis://:secret@host/first", "not the number of a database"),
        ("redis://:secret@host/0?ssl_ca_certs=/secret", "mean nothing here: ssl_ca_certs"),
        ("rediss://:secret@host/0?ssl_cert_reqs=secret", "ssl_cert_reqs is none of required, optional, none"),
        ("sentinel://:secret@one:1,,two:2/0", "a host is missing"),
        ("sentinel://:secret@one:1/0?master_name=secret", "mean nothing here: master_name"),
    ],
)
def test_an_address_that_cannot_be_used_is_refused_without_its_secrets(url: str, reason: str) -> None:
    with pytest.raises(ValueError, match=reason) as refused:
        redis_urls.check(url)
    assert "secret" not in str(refused.value)


def test_celery_checks_the_servers_certificate_unless_the_address_forbids_it() -> None:
    told = redis_urls.broker("rediss://:secret@host:6380/2?ssl_ca_certs=/etc/ca.pem")
    assert told.url == "rediss://:secret@host:6380/2"
    assert told.use_ssl == {"ssl_cert_reqs": ssl.CERT_REQUIRED, "ssl_ca_certs": "/etc/ca.pem"}
    unchecked = redis_urls.broker("rediss://host/0?ssl_cert_reqs=none").use_ssl
    assert unchecked == {"ssl_cert_reqs": ssl.CERT_NONE}


def test_celery_is_told_each_sentinel_with_the_password_of_the_server_and_how_to_ask_it() -> None:
    told = redis_urls.broker(SENTINELS, socket_timeout=5, client_name="tideline")
    assert told.url == "sentinel://me:p%40ss@one:1/2;sentinel://me:p%40ss@two:26379/2"
    assert told.use_ssl is None
    assert told.options == {
        "socket_timeout": 5,
        "client_name": "tideline",
        "master_name": "tideline",
        "sentinel_kwargs": {"socket_timeout": 5, "password": "other"},
    }


def test_celery_is_told_a_sentinel_by_its_number_as_well() -> None:
    assert redis_urls.broker("sentinel://[::1]:1,10.0.0.2/0").url == "sentinel://[::1]:1/0;sentinel://10.0.0.2:26379/0"


# --- real servers ----------------------------------------------------------------------------------------------


class Tls(Redis):
    """A Redis that is reached over TLS alone, with a certificate that it signed itself."""

    @property
    def certificate(self) -> Path:
        return self.state / "redis.pem"

    @property
    def url(self) -> str:
        return f"rediss://:{self.password}@127.0.0.1:{self.port}/2?ssl_ca_certs={self.certificate}"

    def configuration(self) -> bytes:
        tls = f"tls-port {self.port}\ntls-auth-clients no\ntls-cert-file {self.certificate}\n"
        plain = super().configuration().decode().replace(f"port {self.port}", "port 0")
        return f"{plain}{tls}tls-key-file {self.certificate}.key\n".encode()


class Follower(Redis):
    """A Redis that follows another, with the same password."""

    def __init__(self, state: Path, master: Redis) -> None:
        super().__init__(state, durable=False)
        self.password, self._master = master.password, master

    def configuration(self) -> bytes:
        follows = f"replicaof 127.0.0.1 {self._master.port}\nmasterauth {self.password}\n"
        return super().configuration() + follows.encode()

    def follows(self) -> bool:
        """Return whether it has all that the other one has."""
        with redis_urls.client(self.url, **ONCE) as client:
            return client.info("replication")["master_link_status"] == "up"


class SentinelServer(Redis):
    """A sentinel with a password of its own, which alone decides."""

    def __init__(self, state: Path, master: Redis) -> None:
        super().__init__(state, durable=False)
        self._master = master

    def command(self) -> list[str]:
        file = self.data / "sentinel.conf"
        file.write_text(
            f"bind 127.0.0.1\nport {self.port}\nrequirepass {self.password}\ndir {self.data}\npidfile redis.pid\n"
            f"sentinel monitor tideline 127.0.0.1 {self._master.port} 1\n"
            f"sentinel auth-pass tideline {self._master.password}\n"
            "sentinel down-after-milliseconds tideline 1000\n"
        )
        return [str(self.binary), str(file), "--sentinel"]

    def configuration(self) -> bytes:
        return b""

    def port_of_the_master(self) -> int:
        """Return where the master is, to the sentinel's knowledge."""
        with redis_urls.client(self.url, **ONCE) as client:
            return int(client.sentinel_master("tideline")["port"])

    def begins_a_failover(self) -> bool:
        """Begin a failover, unless no replica is known well enough yet."""
        with redis_urls.client(self.url, **ONCE) as client:
            try:
                return bool(client.execute_command("SENTINEL FAILOVER", "tideline"))
            except redis.ResponseError:
                return False

    def url_of_the_master(self, database: int) -> str:
        where = f"127.0.0.1:{self.port},127.0.0.1:{free_port()}"  # the second sentinel is away
        words = f"master=tideline&sentinel_password={self.password}"
        return f"sentinel://:{self._master.password}@{where}/{database}?{words}"


def reaches(url: str) -> None:
    """Write with the client, read with the one for event loops, and send and receive as Celery does."""
    with redis_urls.client(url, **ONCE) as client:
        assert client.set("a key", "a value")
    assert asyncio.run(read(url)) == b"a value"
    told = redis_urls.broker(url, socket_timeout=5, socket_connect_timeout=3)
    assert sent_and_received(told, {"run": 7}) == {"run": 7}


async def read(url: str) -> Any:
    """Read the key with more calls at once than there may be connections."""
    async with redis_urls.async_client(url, max_connections=2, timeout=5, **ONCE) as client:
        values = await asyncio.gather(*(client.get("a key") for _ in range(10)))
    (value,) = set(values)
    return value


def celery(told: redis_urls.Broker) -> Celery:
    """Return an application with this broker."""
    app = Celery("reached", set_as_current=False)
    app.conf.update(broker_url=told.url, broker_use_ssl=told.use_ssl, broker_transport_options=told.options)
    return app


def sent_and_received(told: redis_urls.Broker, message: dict[str, int]) -> Any:
    """Send the message and return what arrives."""
    with celery(told).connection() as connection, connection.SimpleQueue("hints") as queue:
        queue.put(message)
        received = queue.get(timeout=5)
        received.ack()
        return received.payload


def test_a_server_with_a_password_is_reached_in_the_database_of_the_address(redis_server: Redis) -> None:
    second = redis_server.url.removesuffix("/0") + "/2"
    reaches(second)
    with redis_urls.client(second, **ONCE) as two, redis_urls.client(redis_server.url, **ONCE) as nought:
        assert (two.exists("a key"), nought.dbsize()) == (1, 0)


def test_a_server_is_not_reached_with_another_password(redis_server: Redis) -> None:
    with (
        redis_urls.client(redis_server.url.replace(redis_server.password, "guessed"), **ONCE) as client,
        pytest.raises(redis.AuthenticationError),
    ):
        client.ping()


@pytest.fixture
def tls(short_folder: Path) -> Iterator[Tls]:
    server = Tls(short_folder, durable=False)
    if not speaks_tls():
        pytest.skip("the server on this machine has no TLS: install redis-server")
    sign(server.certificate)
    server.start()
    yield server
    server.stop()


def speaks_tls() -> bool:
    """Return whether the server knows TLS: one that does complains of the certificate that it was not given."""
    said = subprocess.run(
        [find_binary()[0], "--port", "0", "--tls-port", str(free_port())], capture_output=True, text=True, check=False
    ).stdout
    return "tls-cert-file" in said


def sign(certificate: Path) -> None:
    """Write a certificate for 127.0.0.1, signed by itself, and its key beside it."""
    openssl = shutil.which("openssl")
    if openssl is None:
        pytest.skip("there is no openssl to sign a certificate with")
    subprocess.run(
        [openssl, "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes", "-days", "2",
         "-subj", "/CN=127.0.0.1", "-addext", "subjectAltName=IP:127.0.0.1",
         "-keyout", f"{certificate}.key", "-out", str(certificate)],
        check=True, capture_output=True,
    )  # fmt: skip


def test_a_server_is_reached_over_tls_with_the_certificate_that_the_address_names(tls: Tls) -> None:
    reaches(tls.url)


def test_a_server_whose_certificate_nobody_vouches_for_is_refused_by_the_client_and_by_celery(tls: Tls) -> None:
    stranger = tls.url.partition("?")[0]
    with redis_urls.client(stranger, **ONCE) as client, pytest.raises(redis.ConnectionError, match="CERTIFICATE"):
        client.ping()
    with (
        celery(redis_urls.broker(stranger)).connection() as connection,
        pytest.raises(OperationalError, match="CERTIFICATE"),
    ):
        connection.ensure_connection(max_retries=1, interval_start=0)


def test_a_server_is_reached_over_tls_without_a_look_at_its_certificate_only_when_the_address_says_so(tls: Tls) -> None:
    reaches(tls.url.partition("?")[0] + "?ssl_cert_reqs=none")


@pytest.fixture
def sentinel(redis_server: Redis, short_folder: Path) -> Iterator[SentinelServer]:
    folder = short_folder / "sentinel"
    folder.mkdir()
    server = SentinelServer(folder, redis_server)
    server.start()
    yield server
    server.stop()


def test_the_master_that_a_sentinel_knows_is_reached_in_the_database_of_the_address(sentinel: SentinelServer) -> None:
    reaches(sentinel.url_of_the_master(2))


def test_a_sentinel_is_not_asked_without_its_password(sentinel: SentinelServer) -> None:
    url = sentinel.url_of_the_master(0).partition("&")[0]
    with redis_urls.client(url, **ONCE) as client, pytest.raises(redis.RedisError):
        client.ping()


@pytest.fixture
def follower(redis_server: Redis, short_folder: Path) -> Iterator[Follower]:
    with redis_urls.client(redis_server.url, **ONCE) as client:
        client.config_set("repl-diskless-sync-delay", 0)
    folder = short_folder / "follower"
    folder.mkdir()
    server = Follower(folder, redis_server)
    server.start()
    wait_until(server.follows)
    yield server
    server.stop()


def test_after_a_failover_an_open_client_and_celery_find_the_new_master(
    follower: Follower, sentinel: SentinelServer
) -> None:
    url = sentinel.url_of_the_master(0)
    with redis_urls.client(url, **ONCE | {"retry": Retry(NoBackoff(), 1)}) as client:
        client.set("written", "before")
        wait_until(sentinel.begins_a_failover)
        wait_until(lambda: sentinel.port_of_the_master() == follower.port)
        assert client.get("written") == b"before"
        reaches(url)
    with redis_urls.client(follower.url, **ONCE) as master:
        assert master.exists("a key") == 1


def wait_until(condition: Callable[[], object], seconds: float = 30) -> None:
    """Ask again and again until the condition holds."""
    deadline = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < deadline, "not in time"
        time.sleep(0.05)


@pytest.mark.parametrize(
    ("url", "passwords"),
    [
        ("redis://127.0.0.1:6379/0", set()),
        ("redis://:secret@host:6379/2", {"secret"}),
        ("rediss://user:a%40b%2Fc@host:6380/0", {"a%40b%2Fc", "a@b/c"}),
        ("sentinel://:of@one:26379,two:26379/0?sentinel_password=other", {"of", "other"}),
    ],
)
def test_the_passwords_of_an_address_are_known_as_written_and_as_meant(url: str, passwords: set[str]) -> None:
    assert redis_urls.passwords(url) == passwords

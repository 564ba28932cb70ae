"""The connector for aiohttp: what leads inwards is not dialled, and what is dialled is what was checked."""

import asyncio
import socket
from typing import Any

import aiohttp
import pytest

from project.kit.outbound import GuardedConnector, LeadsInwards
from tests.kit.outbound.receivers import NameServer

PUBLIC, INWARD = "93.184.215.14", "10.0.0.7"


class Called:
    """Calls addresses with one connector that dials nothing, and remembers what it would have dialled."""

    def __init__(self, *allowed: str) -> None:
        self._allowed = allowed
        self.dialled: list[str] = []

    def get(self, url: str, times: int = 1) -> list[Any]:
        """Call the address so often; return what was raised."""

        async def call() -> list[Any]:
            connector = GuardedConnector(self._allowed, socket_factory=self._dial)
            async with aiohttp.ClientSession(connector=connector) as session:
                calls = (session.get(url, allow_redirects=False) for _ in range(times))
                return list(await asyncio.gather(*calls, return_exceptions=True))

        return asyncio.run(call())

    def _dial(self, place: Any) -> socket.socket:
        self.dialled.append(place[4][0])
        raise ConnectionRefusedError


@pytest.mark.parametrize(
    "host", ["127.0.0.1", "10.0.0.7", "169.254.169.254", "[::1]", "[::ffff:10.0.0.7]", "[64:ff9b::a9fe:a9fe]"]
)
def test_an_address_of_a_private_network_is_not_dialled(host: str) -> None:
    called = Called()

    (error,) = called.get(f"http://{host}/")

    assert isinstance(error, aiohttp.ClientConnectorDNSError)
    assert isinstance(error.os_error, LeadsInwards)
    assert called.dialled == []


@pytest.mark.parametrize("answer", [[INWARD], [PUBLIC, INWARD], ["100.100.100.200"]])
def test_a_name_of_which_one_address_is_private_is_not_dialled(
    monkeypatch: pytest.MonkeyPatch, answer: list[str]
) -> None:
    monkeypatch.setattr(socket, "getaddrinfo", NameServer(answer))

    called = Called()
    (error,) = called.get("http://carrier.example/")

    assert isinstance(getattr(error, "os_error", None), LeadsInwards)
    assert called.dialled == []


def test_what_was_checked_is_dialled_though_the_name_leads_elsewhere_by_then(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    names = NameServer([PUBLIC], [INWARD])
    monkeypatch.setattr(socket, "getaddrinfo", names)

    called = Called()
    called.get("http://carrier.example/")

    assert called.dialled == [PUBLIC]


def test_names_that_are_remembered_are_checked_as_well(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(socket, "getaddrinfo", NameServer([INWARD]))

    called = Called()
    errors = called.get("http://carrier.example/", times=3)

    assert all(isinstance(getattr(error, "os_error", None), LeadsInwards) for error in errors)
    assert called.dialled == []


@pytest.mark.parametrize("allowed", ["127.0.0.1", "127.0.0.1:8081"])
def test_a_setting_opens_a_host_or_one_port_of_it(allowed: str) -> None:
    open_one, other_one = Called(allowed), Called("127.0.0.1:8081")

    open_one.get("http://127.0.0.1:8081/")
    other_one.get("http://127.0.0.1:8082/")

    assert (open_one.dialled, other_one.dialled) == (["127.0.0.1"], [])


def test_an_inward_name_can_be_opened_too(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(socket, "getaddrinfo", NameServer([INWARD]))

    called = Called("carrier.internal")
    called.get("http://carrier.internal/")

    assert called.dialled == [INWARD]

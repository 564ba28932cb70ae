"""What is called has so much time and may answer so much, however it tries to keep us waiting."""

import gzip
import socket
import threading
import time
import zlib
from collections.abc import Callable
from typing import Any

import pytest

from project.kit.outbound import Answered, NotTaken, Unanswered, posting
from project.kit.outbound.posting import MOST_BYTES
from tests.kit.outbound.calling import PATIENT, call, call_receiver
from tests.kit.outbound.receivers import NameServer, answer, ok, read_request, receiver

LARGE = b"x" * 30_000_000  # more than the buffers of both ends hold
SHORT = 0.5


# --- time ------------------------------------------------------------------------------------------------------------


def drip(piece: bytes) -> Callable[[socket.socket], None]:
    """Read the request and send the piece again and again, quicker than any one operation times out."""

    def behave(connection: socket.socket) -> None:
        read_request(connection)
        connection.sendall(b"HTTP/1.1 200 OK\r\n")
        while True:
            connection.sendall(piece)
            time.sleep(0.02)

    return behave


def hang(connection: socket.socket) -> None:
    read_request(connection)
    connection.recv(1)


def hang_after_the_status(connection: socket.socket) -> None:
    read_request(connection)
    connection.sendall(b"HTTP/1.1 200 OK\r\n")
    connection.recv(1)


@pytest.mark.parametrize(
    "behaviour",
    [
        pytest.param(hang, id="no answer"),
        pytest.param(drip(b"X: y\r\n"), id="headers without end"),
        pytest.param(hang_after_the_status, id="no headers"),
        pytest.param(drip(b"Transfer-Encoding: chunked\r\n\r\n1\r\nx\r\n"), id="a body that is no chunk"),
    ],
)
def test_an_answer_that_does_not_come_to_an_end_is_given_up(behaviour: Any) -> None:
    with receiver(behaviour) as running:
        posted = call_receiver(running, seconds=SHORT)
    assert isinstance(posted, Unanswered)
    assert "may have taken it" in posted.sentence


def test_a_body_that_drips_without_end_is_given_up() -> None:
    def behave(connection: socket.socket) -> None:
        read_request(connection)
        connection.sendall(b"HTTP/1.1 200 OK\r\nContent-Length: 999999\r\n\r\n")
        while True:
            connection.sendall(b"x")
            time.sleep(0.02)

    with receiver(behave) as running:
        posted = call_receiver(running, seconds=SHORT)
    assert isinstance(posted, Unanswered)


def test_who_does_not_read_on_is_given_up() -> None:
    over = threading.Event()
    with receiver(lambda connection: over.wait(PATIENT) and None) as running:
        posted = call_receiver(running, seconds=SHORT, body=LARGE)
        over.set()
    assert posted == Unanswered("127.0.0.1 did not answer within 0.5 s. It may have taken it.")


def test_a_name_server_that_hangs_holds_nobody_up(monkeypatch: pytest.MonkeyPatch) -> None:
    answered = threading.Event()

    def hang_on(*_: Any, **__: Any) -> Any:
        answered.wait(PATIENT)
        return NameServer(["127.0.0.1"])("example.org", 80)

    monkeypatch.setattr(socket, "getaddrinfo", hang_on)
    monkeypatch.setattr(posting, "FAREWELL_SECONDS", 0.0)
    try:
        posted = call("example.org", seconds=SHORT)
        assert posted == NotTaken("example.org did not answer within 0.5 s.")
    finally:
        answered.set()
        for thread in threading.enumerate():
            if thread.name == "post":
                thread.join(PATIENT)


# --- sizes -----------------------------------------------------------------------------------------------------------


def test_of_a_long_answer_only_the_beginning_is_read() -> None:
    with receiver(answer(ok(b"x" * 3_000_000))) as running:
        posted = call_receiver(running)
    assert isinstance(posted, Answered)
    assert posted.body == b"x" * MOST_BYTES


@pytest.mark.parametrize(("encoding", "pack"), [(b"gzip", gzip.compress), (b"deflate", zlib.compress)])
def test_a_packed_answer_is_unpacked_so_far_and_no_further(encoding: bytes, pack: Callable[[bytes], bytes]) -> None:
    for body in (b'{"code":0}', b"\0" * 50_000_000):
        with receiver(answer(ok(pack(body), b"Content-Encoding: " + encoding))) as running:
            posted = call_receiver(running)
        assert isinstance(posted, Answered)
        assert posted.body == body[:MOST_BYTES]


@pytest.mark.parametrize("encoding", [b"gzip", b"deflate"])
def test_an_answer_that_says_to_be_packed_and_is_not_was_an_answer(encoding: bytes) -> None:
    with receiver(answer(ok(b"plain", b"Content-Encoding: " + encoding))) as running:
        posted = call_receiver(running)
    assert isinstance(posted, Answered)
    assert (posted.status, posted.body) == (200, b"")


def test_a_packed_answer_is_not_asked_for() -> None:
    heard: list[bytes] = []
    with receiver(answer(ok(), heard=heard)) as running:
        call_receiver(running)
    assert b"\r\nAccept-Encoding: identity\r\n" in heard[0]

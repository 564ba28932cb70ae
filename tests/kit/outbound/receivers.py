"""Receivers that misbehave, on a socket of this machine, and a name server that says what a test tells it to."""

import socket
import threading
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from typing import Any

PATIENCE_SECONDS = 20.0
Behaviour = Callable[[socket.socket], None]


class Receiver:
    """Accepts connections and behaves to each as it is told.

    Attributes:
        connections: how many came.
    """

    def __init__(self, behaviour: Behaviour) -> None:
        self._behaviour = behaviour
        self._socket = socket.create_server(("127.0.0.1", 0))
        self.port: int = self._socket.getsockname()[1]
        self.connections = 0
        self._threads: list[threading.Thread] = []
        self._acceptor = threading.Thread(target=self._accept, daemon=True)
        self._acceptor.start()

    def _accept(self) -> None:
        with suppress(OSError):  # the test is over
            while True:
                connection, _ = self._socket.accept()
                self.connections += 1
                thread = threading.Thread(target=self._serve, args=(connection,), daemon=True)
                self._threads.append(thread)
                thread.start()

    def _serve(self, connection: socket.socket) -> None:
        connection.settimeout(PATIENCE_SECONDS)
        with connection, suppress(OSError):  # the other side has hung up
            self._behaviour(connection)

    def close(self) -> None:
        with suppress(OSError):  # wakes the acceptor
            self._socket.shutdown(socket.SHUT_RDWR)
        self._socket.close()
        for thread in (self._acceptor, *self._threads):
            thread.join(PATIENCE_SECONDS)


@contextmanager
def receiver(behaviour: Behaviour) -> Iterator[Receiver]:
    """Run a receiver while the block runs."""
    running = Receiver(behaviour)
    try:
        yield running
    finally:
        running.close()


def read_request(connection: socket.socket) -> bytes:
    """Return the request's head and body."""
    request = b""
    while b"\r\n\r\n" not in request:
        request += _some(connection)
    head, _, body = request.partition(b"\r\n\r\n")
    length = next(
        int(line.split(b":")[1]) for line in head.split(b"\r\n") if line.lower().startswith(b"content-length")
    )
    while len(body) < length:
        body += _some(connection)
    return head + b"\r\n\r\n" + body


def _some(connection: socket.socket) -> bytes:
    piece = connection.recv(65_536)
    if not piece:
        raise ConnectionError
    return piece


def answer(text: bytes, *, heard: list[bytes] | None = None) -> Behaviour:
    """Read the request and answer with these bytes."""

    def behave(connection: socket.socket) -> None:
        request = read_request(connection)
        if heard is not None:
            heard.append(request)
        connection.sendall(text)

    return behave


def ok(body: bytes = b"ok", *headers: bytes, status: bytes = b"200 OK") -> bytes:
    """Return an answer of HTTP."""
    lines = [b"HTTP/1.1 " + status, b"Content-Length: %d" % len(body), *headers, b"", body]
    return b"\r\n".join(lines)


class NameServer:
    """Answers in the place of socket.getaddrinfo: one answer after the other, the last one for ever.

    Attributes:
        asked: for which names.
    """

    def __init__(self, *answers: Sequence[str]) -> None:
        self._answers = list(answers)
        self.asked: list[str] = []

    def __call__(self, host: Any, port: Any, *args: Any, **kwargs: Any) -> list[Any]:
        self.asked.append(host)
        addresses = self._answers.pop(0) if len(self._answers) > 1 else self._answers[0]
        return [place for address in addresses for place in self._place(address, port)]

    def _place(self, address: str, port: int) -> list[Any]:
        family = socket.AF_INET6 if ":" in address else socket.AF_INET
        place = (address, port, 0, 0) if ":" in address else (address, port)
        return [(family, socket.SOCK_STREAM, socket.IPPROTO_TCP, "", place)]

"""A server that answers what a test tells it to, and remembers what it was asked."""

import socket
import threading
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass, field
from typing import Self


@dataclass(frozen=True)
class Asked:
    """A request as it came: its first line, its headers by lower-case names, and its body."""

    line: str
    headers: dict[str, str]
    body: bytes


@dataclass
class ScriptedCarrier:
    """Each connection is answered once, by what `answer` returns; None: never, and the connection stays open."""

    answer: Callable[[Asked], bytes | None] = field(default=lambda asked: reply(b"{}"))
    asked: list[Asked] = field(default_factory=list)
    # After an answer: whether it seems that more will come.
    stays_open: bool = False

    def __enter__(self) -> Self:
        self._listener = socket.create_server(("127.0.0.1", 0), backlog=64)
        self._open: list[socket.socket] = []
        self._thread = threading.Thread(target=self._accept, daemon=True)
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._listener.shutdown(socket.SHUT_RDWR)
        self._listener.close()
        self._thread.join(10)
        for connection in self._open:
            connection.close()

    @property
    def place(self) -> str:
        return f"127.0.0.1:{self._listener.getsockname()[1]}"

    @property
    def url(self) -> str:
        return f"http://{self.place}"

    def _accept(self) -> None:
        while True:
            try:
                connection, _ = self._listener.accept()
            except OSError:
                return  # the end
            self._open.append(connection)
            threading.Thread(target=self._answer, args=(connection,), daemon=True).start()

    def _answer(self, connection: socket.socket) -> None:
        asked = _read(connection)
        self.asked.append(asked)
        answer = self.answer(asked)
        if answer is None:
            return
        with suppress(OSError):  # whoever has read enough hangs up
            connection.sendall(answer)
            if not self.stays_open:
                connection.shutdown(socket.SHUT_WR)


def reply(body: bytes, status: int = 200, **headers: str) -> bytes:
    """Return an answer as it is written; `Content_Type` becomes Content-Type."""
    lines = [f"HTTP/1.1 {status} Whatever", f"Content-Length: {len(body)}", "Connection: close"]
    lines += [f"{name.replace('_', '-')}: {value}" for name, value in headers.items()]
    return "\r\n".join([*lines, "", ""]).encode() + body


def _read(connection: socket.socket) -> Asked:
    received = b""
    while b"\r\n\r\n" not in received:
        received += connection.recv(65536)
    head, _, body = received.partition(b"\r\n\r\n")
    line, *lines = head.decode("latin-1").split("\r\n")
    headers = {name.lower(): value for name, _, value in (each.partition(": ") for each in lines)}
    while len(body) < int(headers.get("content-length", 0)):
        body += connection.recv(65536)
    return Asked(line, headers, body)

"""Receivers of a campaign, which keep what they were sent and what they answered."""

import random
import socket
from collections import Counter
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager

from tests.kit.outbound.receivers import ok, read_request, receiver

BUSY = ok(b"busy", status=b"500 Busy")
TOO_OFTEN = ok(b"later", b"Retry-After: 1", status=b"429 Too Often")


class Listener:
    """One receiver.

    Attributes:
        taken: the ids of the messages that it took, in their order.
        refused: how many it did not take.
        hangs: it takes each message and never answers.
        refuses_every: it does not take every so-manieth message that it is sent; 0: it takes all.
    """

    def __init__(self, seed: int, *, hangs: bool = False) -> None:
        self._random = random.Random(seed)
        self.taken: list[str] = []
        self.refused = 0
        self.hangs, self.refuses_every = hangs, 0
        self.address = ""

    def behave(self, connection: socket.socket) -> None:
        """Take one message, or refuse it, or hang."""
        request = read_request(connection)
        if self.refuses_every and (len(self.taken) + self.refused) % self.refuses_every == 0:
            self.refused += 1
            connection.sendall(self._random.choice([BUSY, TOO_OFTEN]))
            return
        self.taken.append(_id_of(request))
        if self.hangs:
            connection.recv(1)
        connection.sendall(ok())

    @property
    def doubled(self) -> list[str]:
        """The ids of what it took more than once."""
        return [message for message, count in Counter(self.taken).items() if count > 1]


@contextmanager
def listening(*listeners: Listener) -> Iterator[str]:
    """Run the listeners while the block runs, and say which hosts have to be allowed."""
    with ExitStack() as stack:
        ports = [stack.enter_context(receiver(listener.behave)).port for listener in listeners]
        for listener, port in zip(listeners, ports, strict=True):
            listener.address = f"http://127.0.0.1:{port}/hook"
        yield ",".join(f"127.0.0.1:{port}" for port in ports)


def _id_of(request: bytes) -> str:
    head = request.partition(b"\r\n\r\n")[0].decode()
    (line,) = (line for line in head.split("\r\n") if line.lower().startswith("webhook-id:"))
    return line.partition(":")[2].strip()

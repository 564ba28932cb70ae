"""A TCP proxy between the processes and a server: it cuts connections, delays what they carry, or leaves them open and
swallows all bytes.
"""

import selectors
import socket
import threading
import time
from collections import deque
from pathlib import Path


class Proxy:
    """Forwards connections to a server of this machine until it is told otherwise.

    Attributes:
        delay: seconds by which everything comes later, in either direction.
    """

    def __init__(self, target: int | Path, *, at: str = "127.0.0.1") -> None:
        """Start forwarding to the port or the socket `target` what comes to a port of the address `at`."""
        self._target = target
        self.delay = 0.0
        self._late: deque[tuple[float, socket.socket, bytes]] = deque()
        self._listener = socket.create_server((at, 0))
        self.port: int = self._listener.getsockname()[1]
        self._silent = threading.Event()
        self._peers: dict[socket.socket, socket.socket] = {}
        self._forgotten: list[socket.socket] = []
        self._lock = threading.Lock()
        self._selector = selectors.DefaultSelector()
        self._selector.register(self._listener, selectors.EVENT_READ)
        self._ended = threading.Event()
        self._thread = threading.Thread(target=self._forward_for_ever, daemon=True)
        self._thread.start()

    def cut(self) -> None:
        """Close all connections at once; new ones are let in."""
        with self._lock:
            while self._peers:
                self._close(next(iter(self._peers)))

    def silence(self) -> None:
        """Swallow what the connections carry from now on, as a firewall that forgot them does."""
        self._silent.set()

    def speak(self) -> None:
        """Forward new connections again; those that were silenced stay so."""
        with self._lock:
            for side in self._peers:
                self._selector.unregister(side)
            self._forgotten += self._peers
            self._peers.clear()
        self._silent.clear()

    def end(self) -> None:
        """Close everything."""
        self._ended.set()
        self._thread.join()
        self.cut()
        for end in (*self._forgotten, self._listener):
            end.close()
        self._selector.close()

    def _forward_for_ever(self) -> None:
        while not self._ended.is_set():
            for key, _ in self._selector.select(timeout=0.005 if self._late else 0.05):
                with self._lock:
                    self._take(key.fileobj)
            with self._lock:
                self._deliver_what_is_due()

    def _take(self, ready: object) -> None:
        if ready is self._listener:
            self._connect()
        elif isinstance(ready, socket.socket) and ready in self._peers:
            self._pass_on(ready)

    def _connect(self) -> None:
        near, _ = self._listener.accept()
        try:
            far = self._reach_target()
        except OSError:
            near.close()
            return
        for side, other in ((near, far), (far, near)):
            self._peers[side] = other
            self._selector.register(side, selectors.EVENT_READ)

    def _reach_target(self) -> socket.socket:
        if isinstance(self._target, int):
            return socket.create_connection(("127.0.0.1", self._target))
        far = socket.socket(socket.AF_UNIX)
        try:
            far.connect(str(self._target))
        except OSError:
            far.close()
            raise
        return far

    def _pass_on(self, side: socket.socket) -> None:
        try:
            data = side.recv(65536)
        except OSError:
            data = b""
        if self._late or self.delay:  # behind what is late already, so that the order is kept
            self._late.append((time.monotonic() + self.delay, side, data))
        else:
            self._send_on(side, data)

    def _deliver_what_is_due(self) -> None:
        while self._late and self._late[0][0] <= time.monotonic():
            _, side, data = self._late.popleft()
            if side in self._peers:
                self._send_on(side, data)

    def _send_on(self, side: socket.socket, data: bytes) -> None:
        """Send what the side has said; if it has said goodbye, close both."""
        try:
            if data and not self._silent.is_set():
                self._peers[side].sendall(data)
        except OSError:
            data = b""
        if not data:
            self._close(side)

    def _close(self, side: socket.socket) -> None:
        other = self._peers.pop(side)
        self._peers.pop(other, None)
        for end in (side, other):
            self._selector.unregister(end)
            end.close()

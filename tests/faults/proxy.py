"""A TCP proxy between the processes and a server: it cuts connections, or leaves them open and swallows all bytes."""

import selectors
import socket
import threading


class Proxy:
    """Forwards connections to a port of this machine until it is told otherwise."""

    def __init__(self, target: int) -> None:
        """Start forwarding to the port `target`."""
        self._target = target
        self._listener = socket.create_server(("127.0.0.1", 0))
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
            for key, _ in self._selector.select(timeout=0.05):
                with self._lock:
                    self._take(key.fileobj)

    def _take(self, ready: object) -> None:
        if ready is self._listener:
            self._connect()
        elif isinstance(ready, socket.socket) and ready in self._peers:
            self._pass_on(ready)

    def _connect(self) -> None:
        near, _ = self._listener.accept()
        try:
            far = socket.create_connection(("127.0.0.1", self._target))
        except OSError:
            near.close()
            return
        for side, other in ((near, far), (far, near)):
            self._peers[side] = other
            self._selector.register(side, selectors.EVENT_READ)

    def _pass_on(self, side: socket.socket) -> None:
        try:
            data = side.recv(65536)
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

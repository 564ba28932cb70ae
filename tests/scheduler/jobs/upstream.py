"""A real HTTP server for the tests: it answers as they say, and remembers what it was asked."""

import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from datetime import UTC, datetime
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

NOW = datetime(2026, 3, 1, 12, 0, tzinfo=UTC)


class Upstream(ThreadingHTTPServer):
    """Answers as the test says, and remembers what it was asked."""

    daemon_threads = True

    def __init__(self) -> None:
        super().__init__(("127.0.0.1", 0), Handler)
        self.asked: list[dict[str, Any]] = []
        self.answer: Callable[[Handler], None] = lambda handler: handler.say(200, "fine")
        self.closing = threading.Event()

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.server_port}"


class Handler(BaseHTTPRequestHandler):
    server: Upstream

    def _take(self) -> None:
        length = int(self.headers.get("content-length", 0))
        asked = {"method": self.command, "path": self.path, "headers": self.headers, "body": self.rfile.read(length)}
        self.server.asked.append(asked)
        self.server.answer(self)

    do_GET = do_POST = do_PUT = _take  # noqa: N815 - http.server's names

    def say(self, status: int, body: str | bytes = "", **headers: str) -> None:
        content = body.encode() if isinstance(body, str) else body
        self.send_response(status)
        for name, value in {"content_type": "text/plain; charset=utf-8", **headers}.items():
            self.send_header(name.replace("_", "-"), value)
        self.send_header("Content-Length", str(len(content)))
        self.end_headers()
        self.wfile.write(content)

    def log_message(self, format: str, *args: Any) -> None:
        pass


def hang(handler: Handler) -> None:
    """Answer nothing for as long as the test lasts."""
    handler.server.closing.wait()


def drip(handler: Handler) -> None:
    """Send a header byte now and then, so that no single wait is long."""
    while not handler.server.closing.wait(0.05):
        try:
            handler.wfile.write(b"H")
        except OSError:
            return


@contextmanager
def serving(server: Upstream) -> Iterator[None]:
    """Let the server answer for as long as the block lasts."""
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.05}, daemon=True)
    thread.start()
    try:
        yield
    finally:
        server.closing.set()
        server.shutdown()
        server.server_close()
        thread.join()

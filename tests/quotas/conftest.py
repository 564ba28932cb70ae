"""A provider to talk to."""

import threading
from collections.abc import Iterator

import pytest

from alerts.attention import Attention
from tests.hearing import hearing
from tests.scheduler.jobs.upstream import Upstream


@pytest.fixture
def upstream() -> Iterator[Upstream]:
    """A real server that answers as the test says."""
    server = Upstream()
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.05}, daemon=True)
    thread.start()
    yield server
    server.closing.set()
    server.shutdown()
    server.server_close()
    thread.join()


@pytest.fixture
def told() -> Iterator[list[Attention]]:
    """What people were told."""
    with hearing() as heard:
        yield heard

"""A provider to talk to."""

from collections.abc import Iterator

import pytest

from alerts.attention import Attention
from tests.hearing import hearing
from tests.scheduler.jobs.upstream import Upstream, serving


@pytest.fixture
def upstream() -> Iterator[Upstream]:
    """A real server that answers as the test says."""
    server = Upstream()
    with serving(server):
        yield server


@pytest.fixture
def told() -> Iterator[list[Attention]]:
    """What people were told."""
    with hearing() as heard:
        yield heard

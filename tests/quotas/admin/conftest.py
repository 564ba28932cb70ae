"""What waits for quotas, registered as the scheduler registers its runs."""

from collections.abc import Iterator

import pytest

from quotas import waiting as registry
from tests.quotas.admin import desk


@pytest.fixture(autouse=True)
def _queue(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Only the queue of the test is asked who waits; it begins empty."""
    monkeypatch.setattr(registry, "_sources", [])
    monkeypatch.setattr(registry, "_counts", [])
    registry.register(desk.the_waiting, desk.how_many_wait)
    desk.QUEUE.clear()
    yield
    desk.QUEUE.clear()

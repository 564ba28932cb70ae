"""The consumer that gathers its events."""

from types import SimpleNamespace

import pytest

from project import consumer
from project.consumer import GATHER_SECONDS, GatheringConsumer


class Hub:
    """Collects what it is asked to call later."""

    def __init__(self) -> None:
        self.asked: list[float] = []

    def call_later(self, delay: float, callback: object) -> None:
        """Note the delay."""
        self.asked.append(delay)


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> SimpleNamespace:
    """The monotonic clock, which the test sets."""
    hand = SimpleNamespace(seconds=1000.0)
    monkeypatch.setattr(consumer.time, "monotonic", lambda: hand.seconds)
    return hand


@pytest.fixture
def gathering() -> GatheringConsumer:
    """A consumer with a hub and nothing else of a worker."""
    made = object.__new__(GatheringConsumer)
    made.hub, made._next_flush = Hub(), 0.0
    return made


def test_events_of_one_moment_are_sent_together(gathering: GatheringConsumer, clock: SimpleNamespace) -> None:
    for _ in range(5):
        gathering.on_send_event_buffered()
    assert gathering.hub.asked == [GATHER_SECONDS]


def test_a_later_event_is_sent_later_even_if_the_timer_before_was_lost(
    gathering: GatheringConsumer, clock: SimpleNamespace
) -> None:
    gathering.on_send_event_buffered()
    clock.seconds += GATHER_SECONDS
    gathering.on_send_event_buffered()
    assert gathering.hub.asked == [GATHER_SECONDS] * 2

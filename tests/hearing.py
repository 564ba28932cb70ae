"""Hears what people are told."""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from alerts.attention import Attention, attention_needed


@contextmanager
def hearing() -> Iterator[list[Attention]]:
    """Gather what people are told meanwhile."""
    heard: list[Attention] = []

    def hear(attention: Attention, **_: Any) -> None:
        heard.append(attention)

    attention_needed.connect(hear)
    try:
        yield heard
    finally:
        attention_needed.disconnect(hear)

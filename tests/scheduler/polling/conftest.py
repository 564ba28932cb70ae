"""What a process keeps of the rows for some seconds is of no other test."""

from collections.abc import Iterator

import pytest

from scheduler.polling import system_settings, tiers


@pytest.fixture(autouse=True)
def _nothing_remembered() -> Iterator[None]:
    """Forget settings and tiers after each test, whose rows are gone then."""
    yield
    system_settings.current.forget()
    tiers.current.forget()

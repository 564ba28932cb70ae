"""What several files of races have around each test."""

from collections.abc import Iterator

import pytest

from tests.quotas.factories import nobody_heeds_edges


@pytest.fixture
def unheeded_edges() -> Iterator[None]:
    """Nobody acts on the edges that are written."""
    with nobody_heeds_edges():
        yield

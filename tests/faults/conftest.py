"""Fixtures of the fault tests."""

from pathlib import Path

import pytest

from project.services import Redis
from tests.faults.house import House
from tests.processes import Processes


@pytest.fixture
def house(processes: Processes, redis_server: Redis, tmp_path: Path) -> House:
    """An installation with a broker of its own, on the test database."""
    return House(processes, redis_server, tmp_path)

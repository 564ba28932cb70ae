"""Fixtures of the fault tests."""

import os
import platform
from collections.abc import Iterator
from pathlib import Path
from tempfile import TemporaryDirectory

import dj_database_url
import pytest
from django.core.management import call_command
from django.db import connection
from pytest_django import DjangoDbBlocker

from project.services import PostgreSQL, Redis
from tests.faults.clocks import SteppedClock
from tests.faults.house import House
from tests.processes import Processes


@pytest.fixture(scope="module")
def own_postgresql(django_db_setup: None, django_db_blocker: DjangoDbBlocker) -> Iterator[PostgreSQL]:
    """A PostgreSQL for the module alone, on which Django works too: it may be restarted, and its sessions cut."""
    with TemporaryDirectory(prefix="tideline-test-") as folder, django_db_blocker.unblock():
        server = PostgreSQL(Path(folder), durable=True)  # a crash must forget nothing that was committed
        server.start()
        shared_url, shared_settings = os.environ["DATABASE_URL"], dict(connection.settings_dict)
        use_database(server.url, dj_database_url.parse(server.url))
        call_command("migrate", verbosity=0, interactive=False)
        yield server
        use_database(shared_url, shared_settings)
        server.stop()


def use_database(url: str, settings: dict[str, object]) -> None:
    """Have Django in this process, and the processes that it starts, work on another database."""
    connection.close()
    connection.settings_dict.update(settings)
    os.environ["DATABASE_URL"] = url


@pytest.fixture
def house(processes: Processes, redis_server: Redis, tmp_path: Path) -> House:
    """An installation with a broker of its own, on the test database."""
    return House(processes, redis_server, tmp_path)


@pytest.fixture
def stepped_clock(tmp_path: Path) -> SteppedClock:
    """A clock that can be stepped under a process."""
    if (platform.system(), platform.machine()) != ("Linux", "x86_64"):
        pytest.skip("the library in libfaketime's wheel is for Linux on x86-64 only")
    return SteppedClock(tmp_path)

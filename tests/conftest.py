"""Fixtures for all tests: private servers that a test may stop or flush, and real processes."""

import logging
from collections.abc import Generator, Iterator
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import pytest
from celery import current_app
from django.test import TransactionTestCase
from django.utils import translation

from project.kit.collecting import collect_rarely
from project.services import PostgreSQL, Redis
from tests.flushing import delete_all_rows
from tests.processes import Processes
from tests.settings import last_words, stop_servers


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Let workers, who share the files, begin with those that have slow tests, so that they come to an end together."""
    if hasattr(config, "workerinput"):
        slow = {item.path for item in items if item.get_closest_marker("slow")}
        items.sort(key=lambda item: item.path not in slow)


@pytest.hookimpl(trylast=True)
def pytest_collection_finish() -> None:
    """Spare thousands of tests, and all that they import, from being looked through for rubbish again and again."""
    collect_rarely()


@pytest.hookimpl(wrapper=True)
def pytest_report_to_serializable() -> Generator[None, Any, Any]:
    """Let a worker report of a test that has printed half a character: sent as it is, that ends the worker."""
    return _sendable((yield))


def _sendable(data: Any) -> Any:
    if isinstance(data, str):
        return data.encode(errors="backslashreplace").decode()
    if isinstance(data, dict):
        return {_sendable(key): _sendable(value) for key, value in data.items()}
    return type(data)(map(_sendable, data)) if isinstance(data, list | tuple) else data


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport() -> Generator[None, pytest.TestReport, pytest.TestReport]:
    """Show with what failed what the tests' PostgreSQL and Redis said last: a session that ended tells why there."""
    report = yield
    if report.failed:
        report.sections += last_words()
    return report


@pytest.hookimpl(trylast=True)
def pytest_sessionfinish() -> None:
    """Stop the servers before a worker says that it has finished: what takes long after that is killed."""
    stop_servers()


@pytest.fixture(autouse=True, scope="session")
def _a_quick_flush() -> Iterator[None]:
    """Have every test that committed delete its rows."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(TransactionTestCase, "_fixture_teardown", delete_all_rows)
        yield


@pytest.fixture(autouse=True)
def _the_projects_own_celery() -> Iterator[None]:
    """No test leaves another Celery application behind as the current one: later tests would ask its broker."""
    yield
    assert current_app.main == "tideline", "make other applications with set_as_current=False"


@pytest.fixture(autouse=True)
def _the_projects_own_logging() -> Iterator[None]:
    """No test leaves a handler of the log behind, whose stream is closed when others write to it."""
    before = logging.root.handlers[:]
    yield
    logging.root.handlers[:] = before


@pytest.fixture(autouse=True)
def _the_projects_own_language() -> Iterator[None]:
    """No test leaves another language behind: a request for a page activates its reader's for the whole thread."""
    yield
    translation.deactivate()


@pytest.fixture
def short_folder() -> Iterator[Path]:
    """A folder with a path that is short enough for sockets; pytest's own are not."""
    with TemporaryDirectory(prefix="tideline-test-") as folder:
        yield Path(folder)


@pytest.fixture
def redis_server(short_folder: Path) -> Iterator[Redis]:
    """A Redis for one test alone: it may flush it, `stop()` it, and `launch()` it again at the same `url`."""
    server = Redis(short_folder, durable=False)
    server.start()
    yield server
    server.stop()


@pytest.fixture
def postgresql_server(short_folder: Path) -> Iterator[PostgreSQL]:
    """A PostgreSQL for one test alone: it may `stop()` it, and `launch()` it again at the same `url`."""
    server = PostgreSQL(short_folder, durable=False)
    server.start()
    yield server
    server.stop()


@pytest.fixture
def processes(transactional_db: None, tmp_path: Path) -> Iterator[Processes]:
    """Real processes of the Procfile on the test database, killed when the test ends."""
    started = Processes(tmp_path)
    yield started
    started.end()

"""Fixtures of the browser tests: a Chromium, and an installation with somebody of the staff at its control panel."""

import shutil
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import pytest
from django.db import connection
from playwright.sync_api import Browser, sync_playwright

from project.services import Redis
from tests.browser.person import Person
from tests.browser.site import Site
from tests.processes import Processes

CHROMIUM = ("chromium", "chromium-browser", "google-chrome")
# The sandbox is not there for root, and a container's /dev/shm is too small for it.
SWITCHES = ("--no-sandbox", "--disable-dev-shm-usage", "--disable-gpu", "--disable-background-networking")


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """They are all slow: a browser takes its time."""
    for item in items:
        if Path(__file__).parent in item.path.parents:
            item.add_marker(pytest.mark.slow)


@pytest.fixture(scope="module")
def browser() -> Iterator[Browser]:
    """A Chromium of each file's own, for one may crash: found on PATH, as Playwright brings none of its own here."""
    chromium = next(filter(None, map(shutil.which, CHROMIUM)), None)
    if chromium is None:
        pytest.skip("There is no Chromium on PATH. On Debian and Ubuntu: apt-get install chromium")
    # Playwright keeps an event loop in the tests' own thread, and Django has another connection where one runs. The
    # one until now would be cut unseen when a test ends all sessions but its own, and be dead for the tests to come.
    connection.close()
    with pytest.MonkeyPatch.context() as patch, sync_playwright() as playwright:
        patch.setenv("DJANGO_ALLOW_ASYNC_UNSAFE", "1")
        yield playwright.chromium.launch(executable_path=chromium, args=SWITCHES)


@pytest.fixture
def site(processes: Processes, redis_server: Redis, tmp_path: Path) -> Site:
    """An installation with a broker of its own, of which the web process runs."""
    return Site(processes, redis_server, tmp_path)


@pytest.fixture
def visit(browser: Browser, site: Site, request: pytest.FixtureRequest) -> Iterator[Callable[..., Person]]:
    """Has somebody open a window on the site, as wide as said; what went wrong behind its pages fails the test."""
    with ExitStack() as windows:

        def open_window(**window: Any) -> Person:
            context = windows.enter_context(browser.new_context(base_url=site.address, **window))
            context.set_default_timeout(15_000)
            people.append(Person(context.new_page(), site.address, request.node.name))
            return people[-1]

        people: list[Person] = []
        yield open_window
        troubles = [trouble for person in people for trouble in person.troubles]
    assert not troubles, "\n".join(troubles)

"""Somebody at a browser, and what goes wrong behind the pages that they look at."""

import itertools
import re
from collections.abc import Iterator
from contextlib import contextmanager

from django.conf import settings
from django.contrib.auth.models import User
from django.test import Client
from playwright.sync_api import ConsoleMessage, Page, Request, Response

SCREENSHOTS = settings.BASE_DIR / "artefacts" / "screenshots"

# The names of languages for which most machines that run tests have no letters.
UNDRAWABLE = "document.querySelector('.languages')?.remove()"


class Person:
    """Somebody with a window of a browser.

    Attributes:
        page: what the window shows.
        troubles: what the page complained of since: errors on its console and in its scripts, requests that failed.
    """

    def __init__(self, page: Page, site: str, album: str) -> None:
        """Look at the page.

        Args:
            site: the address of the site, without a path.
            album: under what name the screenshots are kept.
        """
        self.page = page
        self.troubles: list[str] = []
        self._site, self._album = site, album
        self._numbers = itertools.count(1)
        page.on("console", self._console)
        page.on("pageerror", lambda error: self._trouble(f"script: {error}"))
        page.on("requestfailed", self._failed)
        page.on("response", self._response)

    def is_logged_in(self, user: User) -> "Person":
        """Be logged in already."""
        client = Client()
        client.force_login(user)
        name = settings.SESSION_COOKIE_NAME
        self.page.context.add_cookies([{"name": name, "value": client.cookies[name].value, "url": self._site}])
        return self

    def goes_to(self, address: str) -> "Person":
        """Open a page by its address."""
        self.page.goto(address)
        return self

    def follows(self, text: str | re.Pattern[str]) -> "Person":
        """Follow a link of the page."""
        self.page.get_by_role("link", name=text).first.click()
        return self

    def presses(self, text: str) -> "Person":
        """Press a button of the page."""
        self.page.get_by_role("button", name=text, exact=True).click()
        return self

    def fills(self, **fields: str) -> "Person":
        """Fill in fields by their labels."""
        for label, text in fields.items():
            self.page.get_by_label(label.replace("_", " ").capitalize()).first.fill(text)
        return self

    def reads(self, text: str | re.Pattern[str], seconds: float = 15) -> "Person":
        """Wait until the page says this; it need not be loaded again for that."""
        self.page.locator("#content").get_by_text(text).first.wait_for(timeout=seconds * 1000)
        return self

    def is_told(self, text: str) -> "Person":
        """Wait until a message at the top of the page says this."""
        self.page.locator(".messagelist").get_by_text(text).first.wait_for()
        return self

    def sees_state(self, state: str, seconds: float = 30) -> "Person":
        """Wait until the page's head shows this state; it need not be loaded again for that."""
        badge = self.page.locator(".page-head .badge", has_text=re.compile(f"^{state}$"))
        badge.wait_for(timeout=seconds * 1000)
        return self

    def photographs(self, what: str) -> "Person":
        """Keep a screenshot of what the window shows."""
        file = SCREENSHOTS / self._album / f"{next(self._numbers)}-{what.replace(' ', '-')}.png"
        self.page.evaluate(UNDRAWABLE)
        self.page.screenshot(path=file, caret="initial")  # to hide it, Playwright would need an inline style
        return self

    @contextmanager
    def expecting_an_outage(self) -> Iterator[None]:
        """Take no offence at what goes wrong in the block, when the site is away."""
        before = len(self.troubles)
        yield
        del self.troubles[before:]

    # --- what goes wrong -----------------------------------------------------------------------------------------

    def _trouble(self, what: str) -> None:
        self.troubles.append(f"{self.page.url}: {what}")

    def _console(self, message: ConsoleMessage) -> None:
        if message.type in {"error", "warning"}:
            self._trouble(f"console: {message.text}")

    def _failed(self, request: Request) -> None:
        if request.failure != "net::ERR_ABORTED":  # the page was left
            self._trouble(f"{request.method} {request.url}: {request.failure}")

    def _response(self, response: Response) -> None:
        if response.status >= 400:
            self._trouble(f"{response.request.method} {response.url}: {response.status}")

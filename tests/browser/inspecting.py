"""Looks at a page as people with other windows and other eyes see it."""

from typing import Any

from axe_playwright_python.sync_playwright import Axe

from tests.browser.person import Person

WINDOWS = {"desk": (1440, 900), "tablet": (1024, 768), "phone": (390, 844)}
BEYOND = "document.documentElement.scrollWidth - document.documentElement.clientWidth"
# It would preload style sheets to see whether pages turn with a phone, by an inline style that the pages forbid.
QUIETLY = {"preload": False, "resultTypes": ["violations"]}
RULES = QUIETLY | {"runOnly": ["wcag2a", "wcag2aa", "wcag21a", "wcag21aa"]}
COLOURS = QUIETLY | {"runOnly": ["color-contrast"]}
# Django's own: the tooltip of a widget that has two lists.
NOT_OURS = [".help-tooltip"]
# The same on every page.
FRAME = (["#header"], ["#nav-sidebar"])


class Inspection:
    """What is wrong with the pages that were looked at.

    Attributes:
        findings: a line for each.
    """

    def __init__(self, person: Person) -> None:
        self.findings: list[str] = []
        self._page = person.page
        self._known = [NOT_OURS]

    def opens(self, address: str) -> bool:
        """Open the page in light on a desk, and tell whether it is there."""
        self._page.emulate_media(color_scheme="light", reduced_motion="reduce")
        self._resize("desk")
        answer = self._page.goto(address, wait_until="load")
        if answer is None or answer.status != 200:
            self.findings.append(f"{address}: {answer and answer.status}")
            return False
        return True

    def fits(self) -> None:
        """See that the page is nowhere wider than the window."""
        for window in WINDOWS:
            self._resize(window)
            beyond = self._page.evaluate(BEYOND)
            if beyond > 0:
                self.findings.append(f"{self._page.url}: {beyond} px wider than the window of a {window}")

    def is_for_everybody(self) -> None:
        """See that everything has its name and stands out from its ground, in light and in dark; of the first page also
        the frame, which all share.
        """
        self._resize("desk")
        self._page.emulate_media(color_scheme="dark")
        self._check(COLOURS, "dark")
        self._page.emulate_media(color_scheme="light")
        self._check(RULES, "light")
        self._known = [NOT_OURS, *FRAME]

    def _resize(self, window: str) -> None:
        width, height = WINDOWS[window]
        self._page.set_viewport_size({"width": width, "height": height})

    def _check(self, options: dict[str, Any], colours: str) -> None:
        answer = Axe().run(self._page, context={"exclude": self._known}, options=options)
        for violation in answer.response["violations"]:
            first = violation["nodes"][0]
            what = "; ".join(message["message"] for message in [*first["any"], *first["all"], *first["none"]])
            self.findings.append(
                f"{self._page.url} ({colours}): {violation['id']}, {len(violation['nodes'])} times,"
                f" first at {first['html'][:200]}: {what}"
            )

"""Copies what the documentation shows of the control panel from the screenshots of the latest test run (home, a
schedule and a run show a living try-out and are taken by hand):

bin/test tests/browser/test_every_page.py && python -m tests.browser.pictures
"""

import shutil
from pathlib import Path

from tests.browser.person import SCREENSHOTS

IMAGES = Path(__file__).parents[2] / "docs" / "images"
# by the name of the picture, that of the page's address
PICTURES = {
    "quota": "quotas_quota_change",
    "card": "polling_card_change",
}


def copy_pictures() -> None:
    """Copy the latest screenshot of each page.

    Raises:
        SystemExit: there is none of a page.
    """
    for picture, page in PICTURES.items():
        found = sorted(SCREENSHOTS.glob(f"test_every_page*/*-{page}.png"), key=lambda file: file.stat().st_mtime)
        if not found:
            raise SystemExit(f"There is no screenshot of {page}. Run tests/browser/test_every_page.py first.")
        shutil.copy(found[-1], IMAGES / f"{picture}.png")


if __name__ == "__main__":
    copy_pictures()

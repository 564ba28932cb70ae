"""Each how-to leads where it says, followed word by word."""

from pathlib import Path

import pytest

from tests.how_to.following import ROOT, copied, follow, steps_of

PAGES = sorted((ROOT / "docs" / "how-to").glob("*.md"))


@pytest.mark.slow
@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.stem)
def test_what_the_page_says_can_be_done_and_its_tests_pass(page: Path, tmp_path: Path) -> None:
    follow(page.read_text(), copied(tmp_path))


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.stem)
def test_the_page_ends_with_tests_of_what_it_made(page: Path) -> None:
    assert [step.text for step in steps_of(page.read_text()) if "$ bin/test" in step.text]

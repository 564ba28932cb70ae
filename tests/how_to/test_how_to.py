"""The how-tos lead where they say, followed word by word."""

from pathlib import Path

import pytest

from tests.how_to.following import ROOT, copied, follow, named_tests, steps_of, try_out

PAGES = sorted((ROOT / "docs" / "how-to").glob("*.md"))


@pytest.mark.slow
@pytest.mark.timeout(900)  # the tests of four pages, beside others
def test_what_the_pages_say_can_be_done_and_its_tests_pass(tmp_path: Path) -> None:
    project = copied(tmp_path)
    try_out([name for page in PAGES for name in follow(page.read_text(), project)], project)


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.stem)
def test_the_page_ends_with_tests_of_what_it_made(page: Path) -> None:
    assert [step for step in steps_of(page.read_text()) if named_tests(step.text.removeprefix("$ "))]

"""The documents lead to each other and to files that are there, and the index names them all."""

import re
from functools import cache
from pathlib import Path

import pytest
from django.conf import settings

ROOT = Path(settings.BASE_DIR)
DOCS = ROOT / "docs"
PAGES = [ROOT / "README.md", ROOT / "tests" / "cases.md", *sorted(DOCS.rglob("*.md"))]
LINK = re.compile(r"\]\((?!https?://|mailto:)([^)#\s]*)(#[^)\s]+)?\)")


@cache
def anchors_of(page: Path) -> set[str]:
    """Return the anchors that the headings of a page get from GitHub."""
    headings = re.findall(r"^#+ (.+)$", without_code(page), re.MULTILINE)
    return {"#" + re.sub(r"[^\w\- ]", "", heading.lower()).replace(" ", "-") for heading in headings}


def without_code(page: Path) -> str:
    return re.sub(r"^```.*?^```$", "", page.read_text(), flags=re.DOTALL | re.MULTILINE)


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(ROOT)))
def test_each_link_leads_somewhere(page: Path) -> None:
    for path, anchor in LINK.findall(without_code(page)):
        target = (page.parent / path).resolve() if path else page
        assert target.exists(), path
        assert not anchor or anchor in anchors_of(target), f"{path}{anchor}"


def test_the_index_names_every_document() -> None:
    named = {(DOCS / path).resolve() for path, _ in LINK.findall((DOCS / "README.md").read_text())}
    assert [page for page in DOCS.rglob("*.md") if page.resolve() not in named] == [DOCS / "README.md"]
